#!lua flags=allow-oom
-- Makes a shard ready for an instance, or tells how it differs from what the instance expects. A new shard begins with
-- quiet time: instances that another server knew must be able to come back before anything ends. Found: what differs, or
-- `new` if the shard was not there.
-- Repeat: harmless.
-- KEYS  meta things deadlines lengths
-- ARGV  layout shards mode lease-ms quiet-ms noted…
-- REPLY status now-ms found
--@include ../lease/time.lua
--@include ../lease/quiet.lua
local meta, things, deadlines, lengths = unpack(KEYS)
local lease_ms, quiet_ms = ARGV[4], ARGV[5]
local now = clock()
local found = redis.call('HMGET', meta, 'layout', 'shards', 'mode')
for i, name in ipairs({'layout', 'shards', 'mode'}) do
  if found[i] and found[i] ~= ARGV[i] then
    return {'DIFFERS', now, name .. ' ' .. found[i]}
  end
end
local fields = {'shards', ARGV[2], 'mode', ARGV[3], 'lease', lease_ms, unpack(ARGV, 6)}
if not found[1] then
  for _, field in ipairs({'run', server_run(), 'seen', now, 'quiet', now + quiet_ms, 'remember', now}) do
    fields[#fields + 1] = field
  end
end
-- The layout comes last: a shard that a torn log cut off before it is made anew.
-- A value of more than 64 bytes makes the hash a table from the start: as a list it would be searched from one end.
redis.call('HSET', things, 'W', 'things of a set: =ID the thing, ,LEASE a living lease, E the highest epoch, W this')
redis.call('HSETNX', things, 'E', '0000000000000000')
redis.call('HSET', meta, 'layout', ARGV[1], unpack(fields))
quiet(meta, lengths, deadlines, now)
return {'OK', now, found[1] and '' or 'new'}
