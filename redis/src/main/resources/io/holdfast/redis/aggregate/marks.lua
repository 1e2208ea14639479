-- The marks of a key: what has been counted, and by whom. One string of entries, each after a line feed:
--   PART NUMBER EPOCH UNTIL-S SEEN-S    the last publish of an instance that counted, and until when it wished the epoch
--                                       to stay open when it left
--   @SOURCE POSITION SEEN-S             up to where an ordered source has been counted
local function mark(text, name)
  local from, to = string.find(text, '\n' .. name .. ' ', 1, true)
  if from then
    local stop = string.find(text, '\n', to, true) or #text + 1
    return string.sub(text, to + 1, stop - 1), from, stop
  end
end
local function marked(text, name, value)
  local _, from, stop = mark(text, name)
  if from then
    text = string.sub(text, 1, from - 1) .. string.sub(text, stop)
  end
  return text .. '\n' .. name .. ' ' .. value
end
-- Without the entries that nobody has touched since the given second.
local function pruned(text, cutoff)
  local left = {}
  for entry in string.gmatch(text, '\n[^\n]+') do
    if tonumber(string.match(entry, ' (%d+)$')) > cutoff then
      left[#left + 1] = entry
    end
  end
  return table.concat(left)
end
