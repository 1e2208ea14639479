#!lua flags=allow-oom
-- Gives the turn to run a cycle to one holder at a time, an interval after the last one was begun. A holder that dies loses
-- it with its lease, and the next may begin at once.
-- KEYS  meta
-- ARGV  operation holder lease interval
-- REPLY status wait
local meta, operation, holder, lease, interval = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function digits(number)
  return string.format('%.0f', number)
end
local it = redis.call('HMGET', meta, 'holder', 'deadline', 'begun')
local deadline, begun = tonumber(it[2] or 0), tonumber(it[3] or 0)
local mine = it[1] == holder and now < deadline
if operation == 'take' then
  if it[1] and it[1] ~= '' then
    if now < deadline then return {'HELD', digits(deadline - now)} end
  elseif now < begun + interval then
    return {'EARLY', digits(begun + interval - now)}
  end
  redis.call('HSET', meta, 'holder', holder, 'deadline', digits(now + lease), 'begun', digits(now))
  return {'OK', '0'}
end
if not mine then return {'LOST', '1'} end
if operation == 'renew' then
  redis.call('HSET', meta, 'deadline', digits(now + lease))
else
  redis.call('HSET', meta, 'holder', '', 'deadline', '0')
end
return {'OK', '0'}
