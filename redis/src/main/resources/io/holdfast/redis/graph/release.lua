#!lua flags=allow-oom
-- Gives a lease up on purpose: for good, at once for what fits the budget, the rest by later steps.
-- KEYS  meta values counts edges leases lease-info held doomed ledger changed incoming
-- ARGV  lease by space budget capacity
-- REPLY status cause freed
local meta, values, counts, edges, leases, info, held, doomed, ledger, changed, incoming = unpack(KEYS)
--@include shard.lua
--@include shelves.lua
--@include names.lua
--@include lease.lua
--@include lines.lua
--@include settle.lua

local lease, by, space, budget, capacity = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local it = read_lease(lease)
if not it then return {'LAPSED'} end
if it.state ~= 'a' then return {'OK'} end
note({lease})
it.state = 'r'
write_lease(lease, it)
local cause, freed_ids = 'Rreleased by ' .. it.holder, {}
local members =
  redis.call('ZRANGEBYLEX', held, '[' .. lease, '[' .. lease .. string.rep('\255', width), 'LIMIT', 0, budget)
if #members == budget then
  redis.call('RPUSH', doomed, hint('l', cause, lease))
elseif #members > 0 then
  local ids = {}
  for i, member in ipairs(members) do ids[i] = string.sub(member, #lease + 1) end
  redis.call('ZREM', held, unpack(members))
  freed_ids = finish(release(table.concat(ids)), cause, by, space, capacity)
end
redis.call('XADD', ledger, 'MAXLEN', '~', capacity, '*', 'k', 'LEASE', 's', space, 'r', 'RELEASED',
  'e', 'closed by its holder', 'b', by, 'i', #it.holder .. ':' .. it.holder)
return {'OK', string.sub(cause, 2), freed_ids}
