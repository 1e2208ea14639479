#!lua flags=allow-oom
-- Renews leases: each that is alive gets its whole length again, from now.
-- KEYS  meta leases lease-info
-- ARGV  lease…
-- REPLY status now alive
local meta, leases, info = unpack(KEYS)
--@include shard.lua
--@include lease.lua

local add, alive = {}, {}
quiet() -- a renewal is a look, too
for i, lease in ipairs(ARGV) do
  local it = live_lease(lease)
  if it then
    add[#add + 1] = digits(now + it.length)
    add[#add + 1] = lease
    note_length(it.length)
  end
  alive[i] = it and '1' or '0'
end
if #add > 0 then redis.call('ZADD', leases, 'XX', 'GT', unpack(add)) end
return {'OK', digits(now), table.concat(alive)}
