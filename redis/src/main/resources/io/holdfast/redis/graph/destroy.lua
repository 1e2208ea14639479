#!lua flags=allow-oom
-- Ends one life of a graph. Every part is unlinked, which takes the same short time whatever its size: the server frees
-- the memory beside its work. Only the ledger stays. Names the life it means, so that a late repeat cannot end another.
-- KEYS  meta values incoming counts edges roots leases lease-info held doomed changed ledger
-- ARGV  incarnation by space capacity
-- REPLY status values roots
local meta, values, incoming, counts, edges, roots, leases, info, held, doomed, changed, ledger = unpack(KEYS)
--@include shard.lua
--@include shelves.lua
--@include how-many.lua

local incarnation, by, space, capacity = unpack(ARGV)
if redis.call('HGET', meta, 'incarnation') ~= incarnation then return {'NOGRAPH'} end
local names, packed = redis.call('HSCAN', roots, '0', 'COUNT', 256)[2], {}
for i = 1, math.min(#names, 1024), 2 do packed[#packed + 1] = #names[i] .. ':' .. names[i] end
local values_gone, roots_gone = how_many(), redis.call('HLEN', roots)
for _, part in ipairs({values, counts, edges}) do redis.call('UNLINK', unpack(keys_of(part))) end
redis.call('UNLINK', unpack(KEYS, 1, 11))
if #packed > 0 then
  redis.call('XADD', ledger, 'MAXLEN', '~', capacity, '*', 'k', 'ROOT', 's', space, 'r', 'DESTROYED',
    'e', 'the graph was destroyed', 'b', by, 'i', table.concat(packed))
end
redis.call('XADD', ledger, 'MAXLEN', '~', capacity, '*', 'k', 'GRAPH', 's', space, 'r', 'DESTROYED',
  'e', 'destroyed with ' .. digits(values_gone) .. ' values and ' .. digits(roots_gone) .. ' roots', 'b', by,
  'i', #incarnation .. ':' .. incarnation)
return {'OK', values_gone, roots_gone}
