#!lua flags=allow-oom
-- Ends a lease's holds on things. A thing whose last holder this was is due after the grace.
-- KEYS  things due
-- ARGV  sequence grace-ms lease things…
-- REPLY status
--@include living.lua
local call, things, args = redis.call, KEYS[1], ARGV
local sequence, lease = args[1], args[3]
local got = call('HMGET', things, unpack(args, 3))
local last = got[1]
if not last then
  return 'LAPSED'
end
if sequence <= last and string.sub(last, 1, 16) ~= sequence then
  return 'STALE'
end
local reason = '-released by ' .. string.sub(lease, 2)
local sets, set, files, filed, due = {lease, sequence, nil, nil}, 2, {nil, nil}, 0, nil
for i = 4, #args do
  local record = got[i - 2]
  local from, to
  if record then
    from, to = string.find(record, lease, 18, true)
  end
  if from then
    local left, first
    if from > 18 then
      left = string.sub(record, 1, from - 1) .. string.sub(record, to + 1)
    else
      if to < #record then
        left, first = living(things, string.sub(record, 1, 17) .. string.sub(record, to + 1))
      end
      if not first then
        if not due then
          local time = call('TIME')
          due = string.format('%d', time[1] * 1000 + time[2] / 1000 + args[2])
        end
        left = string.sub(record, 1, 17) .. reason
      end
      files[filed + 1] = first and -tonumber(string.sub(first, -12), 16) or due
      files[filed + 2], filed = args[i], filed + 2
    end
    sets[set + 1], sets[set + 2], set = args[i], left, set + 2
  end
end
call('HSET', things, unpack(sets, 1, set))
if filed > 0 then
  call('ZADD', KEYS[2], unpack(files, 1, filed))
end
return 'OK'
