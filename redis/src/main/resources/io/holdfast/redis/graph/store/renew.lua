#!lua flags=allow-oom
-- Extends the deadlines of leases that have not ended. alive: for each a digit, 1 if it was renewed.
-- Repeat: harmless; a late one extends the deadline again.
-- KEYS  meta leases lengths
-- ARGV  lease…
-- REPLY status now-ms run alive
--@include ../../lease/time.lua
--@include ../../lease/quiet.lua
local meta, leases, lengths = unpack(KEYS)
local now = clock()
local _, run = quiet(meta, lengths, leases, now)
local alive = {}
for i, lease in ipairs(ARGV) do
  local length = redis.call('ZSCORE', lengths, lease)
  if length then redis.call('ZADD', leases, now + length, lease) end
  alive[i] = length and '1' or '0'
end
return {'OK', now, run, table.concat(alive)}
