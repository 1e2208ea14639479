-- Lines: a value that was put after another one (its next version) holds only those of its children that the one before
-- does not hold: what they share is counted once for the whole line. The entry of such a value in edges is
--   its children, the one before, the one after, \1        NOBODY where there is none
-- and that of any other is its children alone. What a value holds by itself is its children less those of the one before, as
-- often as they are in either list; so what a line holds can be told from its lists, and nothing else is kept about it.
-- Needs: what shard.lua gives.

local NOBODY = string.rep('\0', width)

-- The children of an entry, packed; of a value in a line also the one before and the one after. An entry of any other length was
-- not written by us, and says nothing.
local function parts_of(entry)
  if #entry % width == 0 then return entry, NOBODY, NOBODY end
  if #entry % width ~= 1 or #entry <= 2 * width then return '', NOBODY, NOBODY end
  return string.sub(entry, 1, -2 * width - 2), string.sub(entry, -2 * width - 1, -width - 2), string.sub(entry, -width - 1, -2)
end

local function line_entry(list, before, after)
  if before == NOBODY and after == NOBODY then return list end
  return list .. before .. after .. '\1'
end

-- How often each id is in a packed list.
local function tally(list)
  local numbers = {}
  for _, id in ipairs(ids_of(list)) do numbers[id] = (numbers[id] or 0) + 1 end
  return numbers
end
