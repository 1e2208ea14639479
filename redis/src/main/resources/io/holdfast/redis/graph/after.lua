-- Puts values of the batch after others that are there, where those are at the end of their lines and have the children that the
-- client says. It does not matter whether anybody holds them: as long as they are there, they hold their children.
-- Needs: edges, befores, heirs, earlier, more, count_more, lists_from, and what lines.lua gives.
-- heirs: the one before -> its number in befores, if it gets one after it
-- earlier: for each number the one before that

for i, entry in ipairs(redis.call('HMGET', edges, unpack(befores))) do
  local known = ARGV[17 + 2 * i]
  local before, after
  if entry == known then
    before, after = NOBODY, NOBODY
  elseif entry and #entry == #known + 2 * width + 1 and string.sub(entry, 1, #known) == known then
    before, after = string.sub(entry, #known + 1, #known + width), string.sub(entry, -width - 1, -2)
  end
  if after == NOBODY then
    heirs[befores[i]], earlier[i] = i, before
  else
    local at = lists_from + 2 * i - 1
    local list, _, after_it = parts_of(ARGV[at])
    ARGV[at] = entry_of(list, NOBODY, after_it)
    if not more then count_more() end
    local shared = tally(known)
    for _, id in ipairs(ids_of(list)) do
      if (shared[id] or 0) > 0 then
        shared[id] = shared[id] - 1
        more[id] = (more[id] or 0) + 1
      end
    end
  end
end
