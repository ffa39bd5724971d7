-- Mentions complete while they are typed.
local harness = require("harness")

return {
  {
    "a mention completes while it is typed, and is accepted",
    modern = true,
    function(world)
      local editor = world:edit_prompt()
      editor:type("iSee @wor")
      editor:wait_popup("a popup after @wor")
      editor:type("kspace:")
      editor:wait_popup("a popup after the colon")
      editor:type("file:/")
      editor:wait_popup("a popup after the slash")
      editor:type("/wor")
      editor:wait("the popup's only item", [[
        local items = vim.fn.complete_info({ "items", "pum_visible" })
        return items.pum_visible == 1 and #items.items == 1]])
      editor:type("<C-n><C-y> now")
      editor:wait("the mention in the text", [[return vim.api.nvim_get_current_line() == "See @workspace:file://world.txt now"]])
    end,
  },
  {
    "the popup comes back after characters that close it",
    modern = true,
    function(world)
      local editor = world:edit_prompt()
      editor:type("i@test:test://docs/other")
      editor:wait_popup("a popup for the path")
      editor:type("-p")
      editor:wait_popup("a popup after the hyphen")
      editor:type("<C-n><C-y>")
      editor:wait("the mention in the text", [[return vim.api.nvim_get_current_line() == "@test:test://docs/other-page.md"]])
    end,
  },
  {
    "a new resource is told and completes",
    function(world)
      local editor = world:edit_prompt()
      editor:lua([[choose("Allow once")]])
      editor:type([[:Agentls ask CALL add_resource {"name": "late.md"}<CR>]])
      editor:wait_answer("Tool said")
      editor:wait_note("test.*resource")
      if harness.modern then
        editor:type("i@test:test://docs/late")
        editor:wait_popup("the new resource")
        editor:type("<C-n><C-y>")
      else
        editor:type("i@test:test://docs/late<C-x><C-o>") -- the only one is taken at once
      end
      editor:wait("the mention", [[return vim.api.nvim_get_current_line() == "@test:test://docs/late.md"]])
    end,
  },
}
