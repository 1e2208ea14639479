-- Records what is gone in the shard's ledger. The evidence of a thing may begin with the time at which its last holder
-- went; the ledger has times of its own.
local function record_gone(ledger, capacity, kind, space, reason, evidence, by, id)
  redis.call('XADD', ledger, 'MAXLEN', '~', capacity, '*', 'k', kind, 's', space, 'r', reason, 'e',
    (string.gsub(evidence, '^%d+ ', '')), 'b', by, 'i', #id .. ':' .. id)
end
