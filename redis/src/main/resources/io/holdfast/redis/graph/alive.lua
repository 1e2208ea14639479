-- Whether values are alive.
-- Needs: values, counts, and what shard.lua gives.

-- For each id the number of its holds and its shape, or nil and the letter of its state, as holds has them; nil and nil
-- where there is no such value. A value without an entry in counts is held once, if it is in values; such values are
-- small (GraphWriter.SMALL_BYTES), so that fetching them is cheaper than a call for each.
local function look_up(ids)
  local numbers, shapes = {}, {}
  local missing, places, n = {}, {}, 0
  for i, count in ipairs(redis.call('HMGET', counts, unpack(ids))) do
    if count then
      numbers[i], shapes[i] = holds(count)
    else
      n = n + 1
      missing[n] = ids[i]
      places[n] = i
    end
  end
  if n > 0 then
    for i, bytes in ipairs(redis.call('HMGET', values, unpack(missing))) do
      if bytes then numbers[places[i]], shapes[places[i]] = 1, '' end
    end
  end
  return numbers, shapes
end
