#!lua
-- Lets things live for an idle time from now, without holders, opening those that are not open.
-- KEYS  things due
-- ARGV  sequence idle-ms lease things…
-- REPLY status before records…
--@include time.lua
local sequence, lease = ARGV[1], ARGV[3]
local got = redis.call('HMGET', KEYS[1], unpack(ARGV, 3))
local last = got[1]
if not last then
  return 'LAPSED'
end
local again = string.sub(last, 1, 16) == sequence
if not again and sequence < last then
  return 'STALE'
end
local now, us = clock()
local before = again and string.sub(last, 17) or redis.call('HGET', KEYS[1], 'E')
local highest = math.max(before == '' and 0 or before + 0, us - 1)
local sets, files, reply = {lease, again and last or sequence .. before}, {}, {'OK', before}
for i = 4, #ARGV do
  local record = got[i - 2]
  if not record or string.byte(record) == 48 then
    if again then
      record = nil -- it has been closed since
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
    files[#files + 1] = now + ARGV[2]
    files[#files + 1] = ARGV[i]
  end
  reply[i - 1] = record or 'GONE'
end
redis.call('HSET', KEYS[1], unpack(sets))
if files[1] then
  redis.call('ZADD', KEYS[2], unpack(files))
end
return table.concat(reply, '\n')
