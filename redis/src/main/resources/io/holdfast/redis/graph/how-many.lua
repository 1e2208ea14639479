-- How many values there are: the fields of values on all shelves, where a large value has a field for each of its chunks. After a
-- torn transaction those of a shelf are called incoming, and have a mark (names.lua).
-- Needs: meta, values, incoming, and what shelves.lua gives.

local function how_many()
  local fields = redis.call('HEXISTS', incoming, '') == 1 and redis.call('HLEN', incoming) - 1 or 0
  for _, key in ipairs(keys_of(values)) do fields = fields + redis.call('HLEN', key) end
  local counters = redis.call('HMGET', meta, 'chunks', 'large')
  return fields - (counters[1] or 0) + (counters[2] or 0)
end
