-- Runs the tests: nvim -l run.lua [PATTERN]. A test file gives a list of { name, function, modern = true where it needs
-- Neovim 0.11 }.
local here = vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))
package.path = here .. "/?.lua;" .. package.path
local harness = require("harness")
harness.nvim = assert(vim.env.NVIM, "NVIM is not set")
harness.binary = assert(vim.env.AGENTLS_BIN, "AGENTLS_BIN is not set")

harness.modern = vim.version.ge(vim.version.parse(vim.fn.system({ harness.nvim, "--version" })), "0.11.0")

io.stdout:setvbuf("line")
local pattern = _G.arg[1] or ""
local passed, failed = 0, 0

local function run(name, test)
  local world = harness.world()
  local started = vim.uv.hrtime()
  local ok, err = harness.guarded(world, test)
  world:close()
  passed, failed = passed + (ok and 1 or 0), failed + (ok and 0 or 1)
  io.stdout:write(("%s %s (%.1f s)\n"):format(ok and "ok" or "not ok", name, (vim.uv.hrtime() - started) / 1e9))
  if not ok then
    io.stdout:write("  ", tostring(err):gsub("\n", "\n  "), "\n")
  end
end

for _, file in ipairs(vim.fn.sort(vim.fn.glob(here .. "/*_test.lua", true, true))) do
  for _, test in ipairs(dofile(file)) do
    local name = ("%s: %s"):format(vim.fs.basename(file):gsub("_test%.lua$", ""), test[1])
    if name:find(pattern, 1, true) then
      if test.modern and not harness.modern then
        io.stdout:write(("skip %s: needs Neovim 0.11\n"):format(name))
      else
        run(name, test[2])
      end
    end
  end
end
io.stdout:write(("%d passed, %d failed\n"):format(passed, failed))
os.exit(failed == 0 and passed > 0 and 0 or 1)
