#!lua flags=no-writes
-- How many bytes values have; 0 for one that is not there.
-- KEYS  meta values counts
-- ARGV  id…
-- REPLY status sizes
local meta, values, counts = unpack(KEYS)
--@include shard.lua

local sizes = {}
local states = redis.call('HMGET', counts, unpack(ARGV))
for i, id in ipairs(ARGV) do
  local chunks = states[i] and string.match(states[i], '^[^|]+|(%d+),')
  if chunks then
    sizes[i] = 0
    for index = 0, tonumber(chunks) - 1 do
      sizes[i] = sizes[i] + redis.call('HSTRLEN', values, chunk(id, index))
    end
  else
    sizes[i] = redis.call('HSTRLEN', values, id)
  end
end
return {'OK', sizes}
