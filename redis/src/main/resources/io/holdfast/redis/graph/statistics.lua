#!lua flags=no-writes
-- How much there is, from lengths and counters: nothing is walked. Memory is the server's own estimate from samples, -1
-- where it does not tell.
-- KEYS  meta values counts edges roots leases lease-info held doomed ledger incoming
-- ARGV
-- REPLY status values large edges roots leases doomed records miscounts memory
local meta, values, counts, edges, roots, leases, info, held, doomed, ledger, incoming = unpack(KEYS)
--@include shard.lua

local counters = redis.call('HMGET', meta, 'edges', 'chunks', 'large', 'miscounts')
for i = 1, 4 do counters[i] = tonumber(counters[i] or 0) end
local memory = 0
for _, key in ipairs(KEYS) do
  local usage = redis.pcall('MEMORY', 'USAGE', key, 'SAMPLES', 32)
  if type(usage) == 'table' then
    memory = -1
    break
  end
  memory = memory + (usage or 0)
end
-- After a torn transaction they are called incoming, and have a mark (names.lua).
local fields = redis.call('HEXISTS', incoming, '') == 1 and redis.call('HLEN', incoming) - 1 or redis.call('HLEN', values)
return {'OK', digits(fields - counters[2] + counters[3]), digits(counters[3]), digits(counters[1]),
  redis.call('HLEN', roots), redis.call('ZCARD', leases), redis.call('LLEN', doomed), redis.call('XLEN', ledger),
  digits(counters[4]), digits(memory)}
