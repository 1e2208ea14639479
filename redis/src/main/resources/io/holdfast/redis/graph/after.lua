-- Puts values of the batch after others that are there. Those must be at the end of their lines and have the children that the
-- client says, or the batch is refused: the client has counted on them. It does not matter whether anybody holds them: as long
-- as they are there, they hold their children.
-- Needs: edges, befores, known_at, heirs, earlier, use_number, and what shelves.lua and lines.lua give.
-- heirs: the one before -> its number in befores
-- earlier: for each number the one before that

local useless = {}
local found = get_sorted(edges, befores)
for i = 1, #befores do
  local entry, known = found[i], ARGV[known_at(i)]
  local after
  if entry == known then
    earlier[i], after = NOBODY, NOBODY
  elseif entry and #entry == #known + 2 * width + 1 and string.find(entry, known, 1, true) == 1 then -- makes no string
    earlier[i], after = string.sub(entry, #known + 1, #known + width), string.sub(entry, -width - 1, -2)
  end
  heirs[befores[i]] = i
  if after ~= NOBODY then useless[#useless + 1] = befores[i] end
end
if #useless > 0 then
  use_number('alone')
  return {'ALONE', table.concat(useless)}
end
