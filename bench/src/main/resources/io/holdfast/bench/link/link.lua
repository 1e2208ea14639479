#!lua
-- Checks the sequence of a holder, adds up the data, writes two fields: the size of a typical script of the product.
-- KEYS  meta
-- ARGV  operation incarnation sequence data…
-- REPLY state highest count
local highest = redis.call('HGET', KEYS[1], ARGV[2])
if highest and tonumber(highest) > tonumber(ARGV[3]) then
  return {'STALE', highest, 0}
end
local bytes = 0
for i = 4, #ARGV do
  bytes = bytes + #ARGV[i]
end
if bytes == 0 then
  return {'EMPTY', ARGV[3], 0}
end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3], ARGV[1], bytes)
return {'OK', ARGV[3], #ARGV - 3}
