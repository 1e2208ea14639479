#!lua
-- Makes a lease a holder of things, opening those that are not open. A repeat of the last call answers what that did.
-- The reply is one string of lines: Redis takes longer to send a table than this script does to look up a thing.
-- KEYS  things due
-- ARGV  sequence lease things…
-- REPLY status before records…
--@include living.lua
local sequence, lease = ARGV[1], ARGV[2]
local got = redis.call('HMGET', KEYS[1], unpack(ARGV, 2))
-- A lease's field is  SEQUENCE(16 digits)  of its last call, and if that opened something the highest EPOCH before.
local last = got[1]
if not last then
  return 'LAPSED'
end
local before, again, highest, epoch, files = '', false
if string.sub(last, 1, 16) == sequence then
  again, before = true, string.sub(last, 17)
elseif sequence < last then
  return 'STALE'
end
local sets, reply = {lease, sequence}, {'OK', before}
for i = 3, #ARGV do
  local record = got[i - 1]
  local held
  if record and string.byte(record) ~= 48 then
    held = string.byte(record, 18) == 44
    if held and #record > 256 then
      record, held = living(KEYS[1], record)
    end
  elseif again then
    record = nil -- it has been closed since
  else
    if not epoch then
      local time = redis.call('TIME')
      before = redis.call('HGET', KEYS[1], 'E')
      highest = math.max(before + 0, time[1] * 1000000 + time[2] - 1)
    end
    highest = highest + 1
    epoch = string.format('%.0f', highest)
    record = epoch .. (record and string.sub(record, 17, 17) or '0')
  end
  if record then
    if not held then
      record = string.sub(record, 1, 17) .. lease
      files = files or {}
      files[#files + 1] = -tonumber(string.sub(lease, -12), 16)
      files[#files + 1] = ARGV[i]
    elseif not string.find(record, lease, 18, true) then
      record = record .. lease
    end
    sets[#sets + 1] = ARGV[i]
    sets[#sets + 1] = record
  end
  reply[i] = record or 'GONE'
end
if epoch then
  reply[2] = before
  sets[2] = sequence .. before
  sets[#sets + 1] = 'E'
  sets[#sets + 1] = epoch
elseif again then
  sets[2] = last
end
redis.call('HSET', KEYS[1], unpack(sets))
if files then
  redis.call('ZADD', KEYS[2], unpack(files))
end
return table.concat(reply, '\n')
