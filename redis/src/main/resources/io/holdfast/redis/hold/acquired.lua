-- The body of acquire.lua and acquire-open.lua: makes a lease a holder of things. A thing that is not open is opened where
-- OPENS is true.
-- Repeat: returns what the first call did, and changes nothing.
-- Torn: neither raises the tally nor looks at it. What is opened is filed first: lapse.lua drops the entry of a thing without
-- a record. What is open already is filed last: claim.lua files a held thing that it finds under a time under its lease.
-- While a torn shard is rebuilt it is called as ever: the record decides there too, and it is written in one command.
-- The reply is one string of lines: Redis takes longer to send a table than this script does to look up a thing.
local call, things, args = redis.call, KEYS[1], ARGV
local absent = OPENS and 'GONE' or 'FULL'
local sequence, file, lease = args[1], args[2], args[3]
local got = call('HMGET', things, 'E', unpack(args, 3))
-- A lease's field is  SEQUENCE(16 digits)  of its last call, and if that opened something the highest EPOCH before.
local last = got[2]
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
local sets, set, lines = {lease, sequence, nil, nil, nil, nil}, 2, nil
local opened, kept = nil, nil -- arguments of ZADD due: things that are opened, and things that were open and not held
for i = 4, #args do
  local record = got[i - 1]
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
      before = got[1]
      highest = math.max(before + 0, micros - 1)
    end
    highest = highest + 1
    epoch = string.format('%d', highest)
    record = epoch .. (record and string.sub(record, 17, 17) or '0') .. lease
    held = true
    opened = opened or {nil, nil}
    opened[#opened + 1], opened[#opened + 2] = file, args[i]
  end
  if record then
    if not held then
      record = string.sub(record, 1, 17) .. lease
      kept = kept or {nil, nil}
      kept[#kept + 1], kept[#kept + 2] = file, args[i]
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
  sets[set + 1], sets[set + 2], set = 'E', epoch, set + 2
  call('ZADD', KEYS[2], unpack(opened))
elseif again then
  sets[2] = last
end
call('HSET', things, unpack(sets, 1, set))
if kept then
  call('ZADD', KEYS[2], unpack(kept))
end
return 'OK\n' .. before .. '\n' .. (#args > 4 and table.concat(lines, '\n') or lines)
