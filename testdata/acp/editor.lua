-- An editor made of Neovim itself: nvim --headless -u NONE -c "luafile editor.lua", with THINKD_ACP_COMMAND (a JSON array) and
-- THINKD_ACP_FOLDER. The file project/a.txt is open in a buffer with changes that are not saved. What was seen is written to
-- FOLDER/saw as a line of JSON for each thing.
local folder = os.getenv("THINKD_ACP_FOLDER")
local cwd = folder .. "/project"
local saw = {}
local function see(thing) table.insert(saw, vim.fn.json_encode(thing)) end
local function leave(code)
  vim.fn.writefile(saw, folder .. "/saw")
  vim.cmd(code == 0 and "qall!" or "cquit!")
end

local function main()
  vim.cmd("edit " .. cwd .. "/a.txt")
  local buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, { "one, not saved" })

  local job, last, answers, thoughts, said = nil, 0, {}, 0, ""
  local function send(message)
    message.jsonrpc = "2.0"
    vim.fn.chansend(job, vim.fn.json_encode(message) .. "\n")
  end
  local function of(path) -- the buffer of a file, loaded
    local b = vim.fn.bufadd(path)
    vim.fn.bufload(b)
    return b
  end
  local asked = {
    ["fs/read_text_file"] = function(p)
      return { content = table.concat(vim.api.nvim_buf_get_lines(of(p.path), 0, -1, false), "\n") .. "\n" }
    end,
    ["fs/write_text_file"] = function(p)
      local lines = vim.split(p.content, "\n", { plain = true })
      if lines[#lines] == "" then table.remove(lines) end
      vim.api.nvim_buf_set_lines(of(p.path), 0, -1, false, lines)
      return vim.empty_dict()
    end,
    ["session/request_permission"] = function(p)
      see({ asked = p.toolCall.title })
      return { outcome = { outcome = "selected", optionId = p.options[1].optionId } }
    end,
  }
  local function take(line)
    local m = vim.fn.json_decode(line)
    if m.method == "session/update" then
      local u = m.params.update
      if u.sessionUpdate == "agent_thought_chunk" then thoughts = thoughts + 1 end
      if u.sessionUpdate == "agent_message_chunk" then said = said .. u.content.text end
    elseif m.method and m.id then
      send({ id = m.id, result = asked[m.method](m.params) })
    elseif m.id then
      answers[m.id] = m
    end
  end
  local rest = ""
  job = vim.fn.jobstart(vim.fn.json_decode(os.getenv("THINKD_ACP_COMMAND")), {
    on_stdout = function(_, data) -- the first part goes on with what was there, the last one is not whole yet
      data[1] = rest .. data[1]
      rest = table.remove(data)
      for _, line in ipairs(data) do
        if line ~= "" then take(line) end
      end
    end,
  })
  local function ask(method, params)
    last = last + 1
    local id = last
    send({ id = id, method = method, params = params })
    assert(vim.wait(60000, function() return answers[id] ~= nil end, 5), method .. " is not answered")
    assert(answers[id].result ~= nil, vim.fn.json_encode(answers[id]))
    return answers[id].result
  end

  local hello = ask("initialize", { protocolVersion = 1, clientCapabilities = { fs = { readTextFile = true, writeTextFile = true } } })
  see({ version = hello.protocolVersion })
  local session = ask("session/new", { cwd = cwd, mcpServers = {} }).sessionId
  local turn = ask("session/prompt", { sessionId = session, prompt = { { type = "text", text = "Fix it." } } })
  see({
    stopReason = turn.stopReason,
    thoughts = thoughts > 0,
    said = said,
    buffer = vim.api.nvim_buf_get_lines(buffer, 0, -1, false),
    disk = vim.fn.readfile(cwd .. "/a.txt"),
    modified = vim.api.nvim_buf_get_option(buffer, "modified"),
  })
  vim.fn.chanclose(job, "stdin")
  see({ exit = vim.fn.jobwait({ job }, 60000)[1] })
end

local ok, failed = pcall(main)
if not ok then see({ failed = tostring(failed) }) end
leave(ok and 0 or 1)
