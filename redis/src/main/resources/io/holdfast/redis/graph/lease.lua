-- Leases: leases has their deadlines, lease-info what they are: sequence;state;milliseconds;kind;holder;reply
-- (state a: alive, r: released). A lease that was released stays until its deadline, so that a late repeat of the call
-- that made it finds it.
-- Needs: meta, leases, info, and what shard.lua gives.

local function read_lease(lease)
  local text = redis.call('HGET', info, lease)
  if not text then return nil end
  local sequence, state, length, kind, holder, reply = string.match(text, '^(%d+);(%a);(%d+);(%a);([^;]*);(.*)$')
  return {
    sequence = tonumber(sequence), state = state, length = tonumber(length),
    kind = kind, holder = holder, reply = reply,
  }
end

local function write_lease(lease, it)
  redis.call('HSET', info, lease, table.concat({
    digits(it.sequence), it.state, digits(it.length), it.kind, it.holder, it.reply}, ';'))
end

-- The lease if it may still act: known, not released, not past its deadline (unless the store was just replaced).
local function live_lease(lease)
  local it = read_lease(lease)
  if not it or it.state ~= 'a' then return nil end
  local deadline = redis.call('ZSCORE', leases, lease)
  if not deadline then return nil end
  if tonumber(deadline) <= now and not quiet() then return nil end
  return it
end
