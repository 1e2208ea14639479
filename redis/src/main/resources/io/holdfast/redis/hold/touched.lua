-- The body of touch.lua and touch-open.lua: lets things live for an idle time from now, without holders. A thing that is
-- not open is opened where OPENS is true.
-- Repeat: returns what the first call did.
local things, due = KEYS[1], KEYS[2]
local sequence, idle_ms, lease = ARGV[1], ARGV[2], ARGV[3]
local got = redis.call('HMGET', things, 'T', 'U', 'E', unpack(ARGV, 3))
if is_torn(got[1], got[2]) then
  return redis.error_reply(TORN)
end
local last = got[4]
if not last then
  return 'LAPSED'
end
local again = string.sub(last, 1, 16) == sequence
if not again and sequence < last then
  return 'STALE'
end
local now, us = clock()
local before = again and string.sub(last, 17) or got[3]
local highest = math.max(before == '' and 0 or before + 0, us - 1)
local sets, files, reply = {lease, again and last or sequence .. before}, {}, {'OK', before}
for i = 4, #ARGV do
  local record = got[i + 1]
  if not record or string.byte(record) == 48 then
    if again or not OPENS then
      record = nil -- again: it has been closed since
    else
      highest = highest + 1
      local epoch = string.format('%.0f', highest)
      record = epoch .. (record and string.sub(record, 17, 17) or '0') .. '-idle'
      sets[#sets + 1] = ARGV[i]
      sets[#sets + 1] = record
      sets[#sets + 1] = 'E'
      sets[#sets + 1] = epoch
    end
  end
  if record then
    files[#files + 1] = now + idle_ms
    files[#files + 1] = ARGV[i]
  end
  reply[i - 1] = record or (OPENS and 'GONE' or 'FULL')
end
if files[1] then
  sets[#sets + 1] = 'U'
  sets[#sets + 1] = raise(things)
  redis.call('ZADD', due, unpack(files))
end
redis.call('HSET', things, unpack(sets))
return table.concat(reply, '\n')
