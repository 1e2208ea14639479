#!lua flags=allow-oom
-- Makes a graph, or tells what it is. quiet.lua begins quiet time for one that is new: clients that another server knew
-- can come back before anything ends. The layout comes last: a graph that a torn log cut off before it is made anew.
-- Repeat: harmless.
-- KEYS  meta leases lengths
-- ARGV  layout addressing lease-ms
-- REPLY status now-ms layout addressing
--@include ../../lease/time.lua
--@include ../../lease/quiet.lua
local meta, leases, lengths = unpack(KEYS)
local layout, addressing, lease_ms = ARGV[1], ARGV[2], ARGV[3]
local now = clock()
local found = redis.call('HMGET', meta, 'layout', 'addressing')
if not found[1] then
  redis.call('HSET', meta, 'lease', lease_ms)
  quiet(meta, lengths, leases, now)
  redis.call('HSET', meta, 'addressing', addressing, 'layout', layout)
  found = {layout, addressing}
end
return {'OK', now, found[1], found[2] or ''}
