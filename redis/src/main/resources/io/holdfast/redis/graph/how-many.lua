-- How many values there are: the fields of values, where a large value has a field for each of its chunks. After a torn
-- transaction values is called incoming, and has a mark (names.lua).
-- Needs: meta, values, incoming.

local function how_many()
  local fields = redis.call('HEXISTS', incoming, '') == 1 and redis.call('HLEN', incoming) - 1 or redis.call('HLEN', values)
  local counters = redis.call('HMGET', meta, 'chunks', 'large')
  return fields - (counters[1] or 0) + (counters[2] or 0)
end
