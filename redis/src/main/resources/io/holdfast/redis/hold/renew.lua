#!lua flags=allow-oom
-- Extends a lease's deadline unless the lease is marked dead, even if the deadline has passed.
-- Repeat: harmless; a late one extends the deadline again.
-- KEYS  meta things deadlines lengths
-- ARGV  lease lease-ms
-- REPLY status now-ms run
--@include ../lease/time.lua
--@include ../lease/quiet.lua
local meta, things, deadlines, lengths = unpack(KEYS)
local lease, lease_ms = ARGV[1], tonumber(ARGV[2])
local now = clock()
local _, run = quiet(meta, lengths, deadlines, now)
if redis.call('HEXISTS', things, lease) == 0 then
  return {'LAPSED', now, run}
end
redis.call('ZADD', deadlines, now + lease_ms, lease)
return {'OK', now, run}
