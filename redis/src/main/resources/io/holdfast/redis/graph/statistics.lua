#!lua flags=no-writes
-- How much there is, from lengths and counters: nothing is walked. Memory is the server's own estimate from samples, -1
-- where it does not tell: of all shelves together as many as of a few.
-- KEYS  meta values counts edges roots leases lease-info held doomed ledger incoming
-- ARGV
-- REPLY status values large edges roots leases doomed records miscounts memory
local meta, values, counts, edges, roots, leases, info, held, doomed, ledger, incoming = unpack(KEYS)
--@include shard.lua
--@include shelves.lua
--@include how-many.lua

local counters = redis.call('HMGET', meta, 'edges', 'large', 'miscounts')
local memory = 0
local all = {meta, roots, leases, info, held, doomed, ledger, incoming}
local others = #all
for _, part in ipairs({values, counts, edges}) do
  for _, key in ipairs(keys_of(part)) do
    if redis.call('HLEN', key) > 0 then all[#all + 1] = key end
  end
end
for i, key in ipairs(all) do
  local usage = redis.pcall('MEMORY', 'USAGE', key, 'SAMPLES', i <= others and '32' or digits(math.ceil(256 / (#all - others))))
  if type(usage) == 'table' then
    memory = -1
    break
  end
  memory = memory + (usage or 0)
end
return {'OK', digits(how_many()), counters[2] or '0', counters[1] or '0',
  redis.call('HLEN', roots), redis.call('ZCARD', leases), redis.call('LLEN', doomed), redis.call('XLEN', ledger),
  counters[3] or '0', digits(memory)}
