-- The body of acquire.lua and acquire-open.lua: makes a lease a holder of things. A thing that is not open is opened where
-- OPENS is true.
-- Repeat: returns what the first call did, and changes nothing.
-- Torn: a call that opens nothing needs no tally. Its record comes first; a held thing that is still filed under a time
-- is filed under its lease by claim.lua when that time comes.
-- The reply is one string of lines: Redis takes longer to send a table than this script does to look up a thing.
local call, things, args = redis.call, KEYS[1], ARGV
local absent = OPENS and 'GONE' or 'FULL'
local sequence, file, lease = args[1], args[2], args[3]
local got = call('HMGET', things, 'T', 'U', 'E', unpack(args, 3))
if is_torn(got[1], got[2]) then
  return redis.error_reply(TORN)
end
-- A lease's field is  SEQUENCE(16 digits)  of its last call, and if that opened something the highest EPOCH before.
local last = got[4]
if not last then
  return 'LAPSED'
end
local before, again, highest, epoch = '', false
if sequence <= last then
  if string.sub(last, 1, 16) ~= sequence then
    return 'STALE'
  end
  again, before = true, string.sub(last, 17)
end
-- Tables are made with the room that one thing needs: most calls are about one.
local sets, set, files, filed, lines = {lease, sequence, nil, nil, nil, nil}, 2, {nil, nil}, 0, nil
for i = 4, #args do
  local record = got[i + 1]
  local held
  if record and string.byte(record) ~= 48 then
    held = string.byte(record, 18) == 44
    if held and #record > 256 then
      record, held = living(things, record)
    end
  elseif again or not OPENS then
    record = nil -- again: it has been closed since
  else
    if not epoch then
      local _, micros = clock()
      before = got[3]
      highest = math.max(before + 0, micros - 1)
    end
    highest = highest + 1
    epoch = string.format('%d', highest)
    record = epoch .. (record and string.sub(record, 17, 17) or '0')
  end
  if record then
    if not held then
      record = string.sub(record, 1, 17) .. lease
      files[filed + 1], files[filed + 2], filed = file, args[i], filed + 2
    elseif not string.find(record, lease, 18, true) then
      record = record .. lease
    end
    sets[set + 1], sets[set + 2], set = args[i], record, set + 2
  end
  if #args > 4 then
    lines = lines or {}
    lines[i - 3] = record or absent
  else
    lines = record or absent
  end
end
if epoch then
  sets[2] = sequence .. before
  sets[set + 1], sets[set + 2], sets[set + 3], sets[set + 4], set = 'E', epoch, 'U', raise(things), set + 4
  call('ZADD', KEYS[2], unpack(files, 1, filed))
elseif again then
  sets[2] = last
end
call('HSET', things, unpack(sets, 1, set))
if filed > 0 and not epoch then
  call('ZADD', KEYS[2], unpack(files, 1, filed))
end
return 'OK\n' .. before .. '\n' .. (#args > 4 and table.concat(lines, '\n') or lines)
