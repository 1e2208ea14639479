#!lua flags=no-writes
-- How many bytes values have; 0 for one that is not there.
-- KEYS  meta values counts incoming
-- ARGV  id…
-- REPLY status sizes
local meta, values, counts, incoming = unpack(KEYS)
--@include shard.lua
--@include shelves.lua
--@include whole.lua

local sizes = {}
local states = get_all(counts, ARGV)
for i, id in ipairs(ARGV) do
  local chunks = states[i] and string.match(states[i], '^[^|]+|(%d+),')
  if chunks then
    sizes[i] = 0
    for index = 0, tonumber(chunks) - 1 do
      sizes[i] = sizes[i] + redis.call('HSTRLEN', key_of(values, id), chunk(id, index))
    end
  else
    sizes[i] = redis.call('HSTRLEN', key_of(values, id), id)
  end
end
return {'OK', sizes}
