-- Leases: leases has their deadlines, lease-info what they are: sequence;state;milliseconds;kind;born;holder;reply
-- (state a: alive, r: released; born: server microseconds). A lease that was released stays until its deadline, so
-- that a late repeat of the call that made it finds it. Calls of a writer name when its lease was born: should a clock
-- that was set back let such a repeat make the lease again, it is not the lease that they mean.
-- Needs: meta, leases, info, and what shard.lua gives.

local function read_lease(lease)
  local text = redis.call('HGET', info, lease)
  if not text then return nil end
  local sequence, state, length, kind, born, holder, reply =
    string.match(text, '^(%d+);(%a);(%d+);(%a);(%d+);([^;]*);(.*)$')
  return {
    sequence = tonumber(sequence), state = state, length = tonumber(length),
    kind = kind, born = born, holder = holder, reply = reply, text = text,
  }
end

local function write_lease(lease, it)
  redis.call('HSET', info, lease, table.concat({
    digits(it.sequence), it.state, digits(it.length), it.kind, it.born, it.holder, it.reply}, ';'))
end

-- Notes that a writer's call was done. Its reply was OK: of a call that is refused there is no note, but where the client does
-- something else instead; then a word for the reply is kept (put.lua).
local function did(lease, it, sequence)
  if it.reply ~= '' then
    it.sequence, it.reply = tonumber(sequence), ''
    return write_lease(lease, it)
  end
  redis.call('HSET', info, lease, sequence .. string.sub(it.text, (string.find(it.text, ';', 1, true))))
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
