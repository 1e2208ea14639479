#!lua flags=allow-oom
-- Ends a lease's holds on things. A thing whose last holder this was is due after the grace.
-- KEYS  things due
-- ARGV  sequence grace-ms lease things…
-- REPLY status
--@include living.lua
local sequence, lease = ARGV[1], ARGV[3]
local got = redis.call('HMGET', KEYS[1], unpack(ARGV, 3))
local last = got[1]
if not last then
  return 'LAPSED'
end
if sequence < string.sub(last, 1, 16) then
  return 'STALE'
end
local sets, files, due = {lease, sequence}
for i = 4, #ARGV do
  local record = got[i - 2]
  local from, to
  if record then
    from, to = string.find(record, lease, 18, true)
  end
  if from then
    local left = string.sub(record, 1, from - 1) .. string.sub(record, to + 1)
    if from == 18 then
      local first
      if #left > 17 then
        left, first = living(KEYS[1], left)
      end
      if not first then
        if not due then
          local time = redis.call('TIME')
          due = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
        end
        left = left .. '-released by ' .. string.sub(lease, 2)
      end
      files = files or {}
      files[#files + 1] = first and -tonumber(string.sub(first, -12), 16) or due
      files[#files + 1] = ARGV[i]
    end
    sets[#sets + 1] = ARGV[i]
    sets[#sets + 1] = left
  end
end
redis.call('HSET', KEYS[1], unpack(sets))
if files then
  redis.call('ZADD', KEYS[2], unpack(files))
end
return 'OK'
