#!lua flags=allow-oom
-- Ends a lease's holds on things. A thing whose last holder this was is due after the grace.
-- Repeat: harmless.
-- Torn: the last holder's release neither raises the tally nor looks at it. The time comes first; claim.lua files a thing
-- that is still held under its lease again. A release that leaves the thing to another holder is tallied.
-- KEYS  things due
-- ARGV  sequence grace-ms lease things…
-- REPLY status
--@include ../lease/time.lua
--@include living.lua
--@include tally.lua
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
local sets, set, files, filed, handed = {lease, sequence, nil, nil, nil, nil}, 2, {nil, nil}, 0, false
local due, reason
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
      if first then
        handed = true
      else
        if not due then
          local now = clock()
          due = string.format('%d', now + args[2])
          reason = '-' .. string.format('%d', now) .. ' released by ' .. string.sub(lease, 2)
        end
        left = string.sub(record, 1, 17) .. reason
      end
      files[filed + 1] = first and -tonumber(string.sub(first, -12), 16) or due
      files[filed + 2], filed = args[i], filed + 2
    end
    sets[set + 1], sets[set + 2], set = args[i], left, set + 2
  end
end
if handed then
  local tally = call('HMGET', things, 'T', 'U')
  if is_torn(tally[1], tally[2]) then
    return redis.error_reply(TORN)
  end
  sets[set + 1], sets[set + 2], set = 'U', raise(things), set + 2
end
if filed > 0 then
  call('ZADD', KEYS[2], unpack(files, 1, filed))
end
call('HSET', things, unpack(sets, 1, set))
return 'OK'
