#!lua flags=allow-oom
-- Marks leases whose deadline has passed as dead, for good, and releases what a dead one still holds, a budget of
-- things at a time. A thing that nobody living holds is due after the grace: as those who serve have noted it, since whoever
-- finds a lease dead may know nothing of it.
-- KEYS  meta things due deadlines dead ledger
-- ARGV  budget grace-ms space by capacity
-- REPLY status next-ms lapsed released more
--@include time.lua
--@include pulse.lua
--@include living.lua
--@include ledger.lua
local now = clock()
local quiet = pulse(KEYS[1], now)
if now < quiet then
  return {'QUIET', quiet - now, 0, 0, 0}
end
local grace = redis.call('HGET', KEYS[1], 'grace') or ARGV[2]
local lapsed = 0
for _, lease in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now, 'LIMIT', 0, 4)) do
  redis.call('ZREM', KEYS[4], lease)
  redis.call('ZADD', KEYS[5], now, lease)
  if redis.call('HDEL', KEYS[2], lease) == 1 then
    lapsed = lapsed + 1
    local holder = string.sub(lease, 2)
    record_gone(KEYS[6], ARGV[5], 'LEASE', ARGV[3], 'LAPSED', 'it was not renewed in time', ARGV[4], holder)
  end
end
local released, more = 0, 0
local lease = redis.call('ZRANGE', KEYS[5], 0, 0)[1]
if lease then
  local file = -tonumber(string.sub(lease, -12), 16)
  local ids = redis.call('ZRANGEBYSCORE', KEYS[3], file, file, 'LIMIT', 0, ARGV[1])
  if ids[1] then
    local records = redis.call('HMGET', KEYS[2], unpack(ids))
    local sets, files = {}, {}
    for i, id in ipairs(ids) do
      local left, first = living(KEYS[2], records[i] or '00000000000000000')
      if not first then
        left = left .. '-lapsed with ' .. string.sub(lease, 2)
      end
      sets[#sets + 1] = id
      sets[#sets + 1] = left
      files[#files + 1] = first and -tonumber(string.sub(first, -12), 16) or now + grace
      files[#files + 1] = id
    end
    redis.call('HSET', KEYS[2], unpack(sets))
    redis.call('ZADD', KEYS[3], unpack(files))
    released, more = #ids, 1
  else
    redis.call('ZREM', KEYS[5], lease)
    more = redis.call('ZCARD', KEYS[5])
  end
end
local first = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')
return {'OK', first[2] and math.max(0, first[2] - now) or -1, lapsed, released, more}
