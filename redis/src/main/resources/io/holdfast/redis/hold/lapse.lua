#!lua flags=allow-oom
-- Marks leases whose deadline has passed as dead, for good, and releases what a dead one still holds, a budget of
-- things at a time. A thing without a living holder is due after the grace that the serving instances noted in meta: the
-- instance that finds a lease dead may serve nothing itself.
-- Repeat: does the next step.
-- KEYS  meta things due deadlines lengths dead ledger
-- ARGV  budget grace-ms space by capacity
-- REPLY status next-ms lapsed released more
--@include ../lease/time.lua
--@include ../lease/quiet.lua
--@include living.lua
--@include ledger.lua
--@include tally.lua
local meta, things, due, deadlines, lengths, dead, ledger = unpack(KEYS)
local budget, grace_ms, space, by, capacity = unpack(ARGV)
local LEASES_A_STEP = 4
local ASK_AGAIN_MS = 1000

local now = clock()
local tally = redis.call('HMGET', things, 'T', 'U')
if is_torn(tally[1], tally[2]) then
  return redis.error_reply(TORN)
end
local quiet_until, _, paused = quiet(meta, lengths, deadlines, now)
if paused ~= '' then
  return {'PAUSED', ASK_AGAIN_MS, 0, 0, 0}
end
if now < quiet_until then
  return {'QUIET', quiet_until - now, 0, 0, 0}
end

local late = redis.call('ZRANGEBYSCORE', deadlines, '-inf', now, 'LIMIT', 0, LEASES_A_STEP)
local first_dead = late[1] or redis.call('ZRANGE', dead, 0, 0)[1]
if not first_dead then
  local first = redis.call('ZRANGE', deadlines, 0, 0, 'WITHSCORES')
  return {'OK', first[2] and math.max(0, first[2] - now) or -1, 0, 0, 0}
end

local raised = raise(things)
local lapsed = 0
for _, lease in ipairs(late) do
  redis.call('ZADD', dead, now, lease)
  redis.call('ZREM', lengths, lease)
  redis.call('ZREM', deadlines, lease)
  if redis.call('HDEL', things, lease) == 1 then
    lapsed = lapsed + 1
    record_gone(ledger, capacity, 'LEASE', space, 'LAPSED', 'it was not renewed in time', by, string.sub(lease, 2))
  end
end

-- Releases what one dead lease holds; returns how many things, and whether there may be more.
local function release_held_by(lease)
  if redis.call('HEXISTS', things, lease) == 1 then
    redis.call('ZREM', dead, lease) -- a torn script left it here: it lives
    return 0, redis.call('ZCARD', dead)
  end
  local file = -tonumber(string.sub(lease, -12), 16)
  local ids = redis.call('ZRANGEBYSCORE', due, file, file, 'LIMIT', 0, budget)
  if not ids[1] then
    redis.call('ZREM', dead, lease)
    return 0, redis.call('ZCARD', dead)
  end
  local grace = redis.call('HGET', meta, 'grace') or grace_ms
  local records = redis.call('HMGET', things, unpack(ids))
  local sets, files, unfile = {}, {}, {}
  for i, id in ipairs(ids) do
    local record = records[i]
    if not record or string.byte(record) == 48 then
      unfile[#unfile + 1] = id -- a torn acquire filed what it did not open
    else
      local left, first = living(things, record)
      if not first then
        left = left .. '-' .. string.format('%d', now) .. ' lapsed with ' .. string.sub(lease, 2)
      end
      sets[#sets + 1], sets[#sets + 2] = id, left
      files[#files + 1] = first and -tonumber(string.sub(first, -12), 16) or now + grace
      files[#files + 1] = id
    end
  end
  if unfile[1] then
    redis.call('ZREM', due, unpack(unfile))
  end
  if files[1] then
    redis.call('ZADD', due, unpack(files))
    redis.call('HSET', things, unpack(sets))
  end
  return #ids - #unfile, 1
end

local released, more = release_held_by(redis.call('ZRANGE', dead, 0, 0)[1])
redis.call('HSET', things, 'U', raised)
local first = redis.call('ZRANGE', deadlines, 0, 0, 'WITHSCORES')
return {'OK', first[2] and math.max(0, first[2] - now) or -1, lapsed, released, more}
