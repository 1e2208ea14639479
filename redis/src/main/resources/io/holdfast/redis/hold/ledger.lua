-- Records what is gone in the shard's ledger.
local function record_gone(ledger, capacity, kind, space, reason, evidence, by, id)
  redis.call('XADD', ledger, 'MAXLEN', '~', capacity, '*', 'k', kind, 's', space, 'r', reason, 'e', evidence, 'b', by,
    'i', #id .. ':' .. id)
end
