-- The marks of a key, field =KEY of hash `parts`: what has been counted, by whom, and until when the open epoch lasts. One
-- string of entries, each after a line feed; the last word of an entry is the second in which it was touched.
--   PART NUMBER EPOCH UNTIL-S PUBLISHED SEEN-S   the last publish of an instance that counted, until when it wished the
--                                                epoch to stay open when it left, how often it published in that epoch
--   @SOURCE POSITION SEEN-S                      up to where an ordered source has been counted; POSITION:REFUSED,REFUSED…
--                                                if updates at some positions were refused, and count when they come again
--   ! EPOCH HARD-MS EXTENDED-MS SEEN-S           when the epoch's hard window ends, and until when it was extended (or 0)
local GAP_MAX_MS = 3000 -- as WATCH_MS of quiet.lua
local REFUSED_MAX = 1000 -- refused positions of one source and key; as in SourceProgress.java
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
-- Without the entries that were not touched since the given second; those of the open epoch stay.
local function pruned(text, cutoff, open)
  local left = {}
  for entry in string.gmatch(text, '\n[^\n]+') do
    if tonumber(string.match(entry, ' (%d+)$')) > cutoff or (open and string.find(entry, ' ' .. open .. ' ', 1, true)) then
      left[#left + 1] = entry
    end
  end
  return table.concat(left)
end
-- When the hard window of the epoch ends, and until when it was extended; nil if the marks do not know the epoch.
local function window_of(text, epoch)
  local value = mark(text, '!')
  if value and string.sub(value, 1, 16) == epoch then
    local hard, extended = string.match(value, '^%d+ (%d+) (%d+)')
    return tonumber(hard), tonumber(extended)
  end
end
-- Whether a span is one position that was refused.
local function was_refused(value, from, to)
  local refused = string.match(value, '^%d+:([%d,]+)')
  return refused and from == to and string.find(',' .. refused .. ',', ',' .. from .. ',', 1, true) ~= nil
end
-- What is counted of a source after a span up to `to`: a later position, or one refused position less; and how many refused
-- positions there are. A position below the last one that is not known as refused was counted, whatever the span says: so
-- no refused position is ever forgotten to make room.
local function advanced(value, to)
  local last, refused = string.match(value or '', '^(%d+):?([%d,]*)')
  local position, more = string.match(to, '^(%d+):?([%d,]*)')
  local list = {}
  for one in string.gmatch(refused or '', '%d+') do
    if one ~= position then
      list[#list + 1] = one
    end
  end
  for one in string.gmatch(more, '%d+') do
    if one ~= position and tonumber(one) > (tonumber(last) or -1) then
      list[#list + 1] = one
    end
  end
  if last and tonumber(last) > tonumber(position) then
    position = last
  end
  return list[1] and position .. ':' .. table.concat(list, ',') or position, #list
end
