#!lua flags=no-writes
-- One page of the fields of values on a shelf, without their bytes: ids packed, chunks of large values as they are. Says how many
-- bytes it passed, so that the caller can ask for smaller pages where values are large.
-- KEYS  meta values counts incoming
-- ARGV  shelf cursor count
-- REPLY status cursor bytes packed chunks
local meta, values, counts, incoming = unpack(KEYS)
--@include shard.lua
--@include shelves.lua
--@include whole.lua

local page = redis.call('HSCAN', on(values, tonumber(ARGV[1]) or ALL), ARGV[2], 'COUNT', ARGV[3])
local flat = page[2]
local ids, chunks, bytes = {}, {}, 0
for i = 1, #flat, 2 do
  local field = flat[i]
  bytes = bytes + #flat[i + 1]
  if #field == width then ids[#ids + 1] = field else chunks[#chunks + 1] = field end
end
return {'OK', page[1], bytes, table.concat(ids), chunks}
