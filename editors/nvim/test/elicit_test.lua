-- What MCP servers want to know: forms and links.
local harness = require("harness")
local equal, check = harness.equal, harness.check

---Lets the model call the server's tool that asks.
local function ask(editor, params)
  editor:type(([[:Agentls ask CALL elicit %s<CR>]]):format(vim.json.encode({ params = params }):gsub("<", "<lt>")))
end

return {
  {
    "a form is asked for field by field, in its order, and shown before it is sent",
    function(world)
      local editor = world:edit_prompt()
      editor:lua([[
        choose_each({ "Allow once", "Green", "Yes", "− a", "+ b", "Done", "Send" })
        type_each({ "Ada", "" })]])
      -- The order is that of the text, which a table would lose.
      editor:type(
        [[:Agentls ask CALL elicit {"params": {"message": "Who?", "requestedSchema": {"type": "object", "required": ["name", "sure"], "properties": {]]
          .. [["name": {"type": "string", "title": "Your name", "minLength": 2}, "color": {"oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},]]
          .. [["sure": {"type": "boolean"}, "many": {"type": "array", "items": {"enum": ["a", "b"]}, "default": ["a"]}, "age": {"type": "integer", "default": 7}}}}}<CR>]]
      )
      local said = editor:wait_answer([[Tool said: .*answer]])
      check(said:find([["action":"accept","content":{"name":"Ada","color":"g","sure":true,"many":["b"]}]], 1, true), said)
      equal(editor:lua([[return inputs]]), {
        { prompt = "test asks: Who? (1 of 5) Your name (2 characters at least): " },
        { prompt = "test asks: Who? (5 of 5) age (a whole number; optional): ", default = "7" },
      })
      local titles = vim.tbl_map(function(question)
        return table.concat(question.titles, " ")
      end, editor:lua([[return questions]]))
      equal(titles[2], "Decline Red Green Leave out")
      equal(titles[3], "Decline Yes No")
      equal(titles[4], "Decline Done − a + b")
      equal(titles[7], "Decline Send")
    end,
  },
  {
    "an answer that does not fit is asked for again; a dismissed form is cancelled, a declined one declined",
    function(world)
      local editor = world:edit_prompt()
      local schema = { type = "object", properties = { age = { type = "integer", minimum = 18 } }, required = { "age" } }
      editor:lua([[choose("Allow once"); type_each({ "7", "18" })]])
      ask(editor, { message = "How old?", requestedSchema = schema })
      editor:wait_answer([[Tool said: .*"age":18]])
      check(editor:lua([[return inputs[2].prompt]]):find([["age" must be at least 18]], 1, true), "the problem is not told")
      editor:lua([[type_each({ vim.NIL })]])
      ask(editor, { message = "How old?", requestedSchema = schema })
      editor:wait_answer([["action":"cancel"]])
      editor:lua([[choose_each({ "Allow once", "Decline" })]])
      ask(editor, { message = "Sure?", requestedSchema = { type = "object", properties = { sure = { type = "boolean" } } } })
      editor:wait_answer([["action":"decline"]])
    end,
  },
  {
    "a link is shown whole and opened after a yes only",
    function(world)
      local editor = world:edit_prompt()
      editor:lua([[
        opened = {}
        vim.ui.open = function(url) table.insert(opened, url); return nil, nil end
        choose_each({ "Allow once", "Decline", "Allow once", "Open" })]])
      local link = { mode = "url", elicitationId = "1", url = "https://example.com/sign?in=1", message = "Sign in" }
      ask(editor, link)
      editor:wait_answer([["action":"decline"]])
      equal(editor:lua([[return #opened]]), 0, "opened")
      check(editor:lua([[return questions[2].prompt]]):find("https://example.com/sign?in=1", 1, true), "the link is not shown")
      ask(editor, link)
      editor:wait_answer([["action":"accept"]])
      equal(editor:lua([[return opened]]), { "https://example.com/sign?in=1" })
    end,
  },
}
