#!lua flags=allow-oom
-- Ends epochs whose hard window is over, and forgets what nobody can deliver again any more; a limit of each at a time.
-- A key stays in 'ends' as long as it has marks: its time is when to look at it again.
-- KEYS  meta things due closing claims ends marks ids
-- ARGV  limit window-s by
-- REPLY status next-ms frozen forgotten bytes more
--@include ../hold/time.lua
--@include marks.lua
--@include frozen.lua
local now = clock()
local limit, frozen, forgotten, more = tonumber(ARGV[1]), 0, 0, 0
local keys = {things = KEYS[2], due = KEYS[3], closing = KEYS[4], claims = KEYS[5]}
local meta = redis.call('HMGET', KEYS[1], 'quiet', 'bytes', 'window')
local window = (meta[3] or ARGV[2]) * 1000 -- in seconds, as noted by those who add
if now >= tonumber(meta[1] or 0) then
  local ended = redis.call('ZRANGEBYSCORE', KEYS[6], '-inf', now, 'LIMIT', 0, limit)
  more = #ended == limit and 1 or 0
  for _, thing in ipairs(ended) do
    local record = redis.call('HGET', KEYS[2], thing)
    local again = window
    if record and string.byte(record) ~= 48 then
      if freeze(keys, thing, record, now, ARGV[3], 'the hard window ended') then
        frozen = frozen + 1
      else
        again = 1000
      end
    elseif not record and pruned(redis.call('HGET', KEYS[7], thing) or '', math.floor((now - window) / 1000)) == '' then
      again = nil
    end
    if again then
      redis.call('ZADD', KEYS[6], now + again, thing)
    else
      redis.call('HDEL', KEYS[7], thing)
      redis.call('ZREM', KEYS[6], thing)
      forgotten = forgotten + 1
    end
  end
end
local ids = redis.call('ZRANGEBYSCORE', KEYS[8], '-inf', now - window, 'LIMIT', 0, limit)
if ids[1] then
  redis.call('ZREM', KEYS[8], unpack(ids))
  forgotten, more = forgotten + #ids, #ids == limit and 1 or more
end
local soonest = redis.call('ZRANGE', KEYS[6], 0, 0, 'WITHSCORES')[2]
return {'OK', soonest and math.max(0, soonest - now) or -1, frozen, forgotten, tonumber(meta[2] or 0), more}
