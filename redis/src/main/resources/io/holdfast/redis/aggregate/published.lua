-- The body of publish.lua and publish-leaving.lua: puts an instance's parts of aggregates, and makes the instance a holder
-- of them or lets it leave. An entry is
--   thing epoch base number leave-ms part n m, then n times source from to, then m ids, each # and 16 bytes
-- where `to` may be TO:REFUSED,REFUSED…: updates up to there that were refused, and count when they are delivered again.
-- It counts only on top of what the instance knows to be counted (base), in the epoch it was made for (zeros: the instance
-- has no part in the open one), and only if none of its positions was seen before.
-- The answer to an entry:
--   O EPOCH                            it counts, in that epoch
--   S LAST EPOCH OPEN HAS PART         it does not: the last number that counts and its epoch, the open epoch, own part
--   P \n@SOURCE POSITION \n#INDEX      it does not: these positions were seen (POSITION may be POSITION:REFUSED,REFUSED…)
--   F                                  it does not: too many bytes wait for the sink
--   R                                  it does not: too many refused positions would have to be remembered
--
-- Promises
--   1. One HSET of `parts` makes a publish count: parts, marks and ids. All other writes are indexes of it, and the record
--      of the epoch, which comes before it.
--   2. A hard end is set when an epoch begins, in its marks. The soft end of a key without holders is never after it; a key
--      with holders is filed in `ends` under it.
--   3. What may be forgotten one day is appended to `look` (SECOND=KEY, when a key gets its first marks) and `ids` (SECOND and
--      the ids of an entry) before it counts; see tend.lua.
-- Repeat: changes nothing.
local call, args, none = redis.call, ARGV, '0000000000000000'
local meta, things, due, parts, ends, look, ids = unpack(KEYS)
local mine, lease, file = args[1], args[2], args[3]
local hard_ms, window_s, limit = tonumber(args[4]), tonumber(args[5]), tonumber(args[6])
local first, names, count, at = {}, {'E', lease, 'T', 'U'}, 0, 7
while at <= #args do
  count = count + 1
  first[count], names[count + 4] = at, args[at]
  at = at + 8 + 3 * args[at + 6] + args[at + 7]
end
local records = call('HMGET', things, unpack(names))
if is_torn(records[3], records[4]) then
  return redis.error_reply(TORN)
end
if not records[2] then
  return {'LAPSED', 0}
end
local now, us = clock()
local second, hard_at = string.format('%d', now / 1000), string.format('%d', now + hard_ms)
local left_by = '-left by ' .. string.sub(lease, 2)
-- Marks and packed parts by one call: of each entry the marks, then of each open key the parts.
local fields, place = {unpack(names, 5)}, {}
for i = 1, count do
  local record = records[i + 4]
  if record and string.byte(record) ~= 48 then
    place[i] = #fields + 1
    fields[place[i]] = string.sub(record, 1, 16) .. names[i + 4]
  end
end
local stored = call('HMGET', parts, unpack(fields))
-- Own part of a packed string: PART LENGTH : BYTES, one after the other.
local function own(packed)
  local from = 1
  while from <= #packed do
    local colon = string.find(packed, ':', from + 16, true)
    local stop = colon + string.sub(packed, from + 16, colon - 1)
    if string.sub(packed, from, from + 15) == mine then
      return from, colon + 1, stop
    end
    from = stop + 1
  end
end
-- Whether an entry adds to a list of refused positions that is full: none of them may be forgotten.
local function remembers_too_many(text, entry)
  for i = entry + 8, entry + 7 + 3 * args[entry + 6], 3 do
    if string.find(args[i + 2], ':', 1, true) then
      local _, refused = advanced(mark(text, '@' .. args[i]), args[i + 2])
      if refused > REFUSED_MAX then
        return true
      end
    end
  end
end
local function seen(text, entry)
  local refused, sources, named = nil, args[entry + 6] + 0, args[entry + 7] + 0
  for i = entry + 8, entry + 7 + 3 * sources, 3 do
    local value = mark(text, '@' .. args[i])
    local position = value and string.match(value, '^%d+')
    if position and tonumber(args[i + 1]) <= tonumber(position) and not was_refused(value, args[i + 1], args[i + 2]) then
      refused = (refused or 'P') .. '\n@' .. args[i] .. ' ' .. string.match(value, '^%S+')
    end
  end
  local from = entry + 8 + 3 * sources
  for chunk = from, from + named - 1, 1000 do
    local last = math.min(chunk + 999, from + named - 1)
    for i, known in ipairs(call('HMGET', parts, unpack(args, chunk, last))) do
      if known then
        refused = (refused or 'P') .. '\n#' .. (chunk - from + i - 1)
      end
    end
  end
  return refused
end
-- What is decided below and written at the end, each the arguments of one command.
local set_things, put_parts, file_due, set_ends, set_look, note_ids = {}, {}, {}, {}, {}, {}
local bytes, grown, epochs, opened, counted = nil, 0, records[1] + 0, false, 0
local function pair(list, one, two)
  local n = #list
  list[n + 1], list[n + 2] = one, two
end
-- Opens a new epoch: returns it, its record without holders, and the marks with its hard end.
local function begin(thing, record, text)
  epochs = math.max(epochs + 1, us)
  opened = true
  local epoch = string.format('%.0f', epochs)
  local unheld = epoch .. (record and string.sub(record, 17, 17) or '0')
  local window = epoch .. ' ' .. hard_at .. ' 0 ' .. second
  if text == '' then
    set_look[#set_look + 1] = second .. thing
    return epoch, unheld, '\n! ' .. window
  end
  return epoch, unheld, marked(text, '!', window)
end
-- The record of an epoch that has just begun, with this instance or left by it, and under what it is to be filed.
local function first_record(thing, record, wish)
  if wish == '' then
    pair(set_ends, hard_at, thing)
    return record .. lease, file
  end
  return record .. left_by, string.format('%d', now + math.min(wish, hard_ms))
end
-- When a key without holders ends: the latest wish of those who left, an extension, and not after the hard end.
local function soft_end(text, epoch, wished)
  local latest, hard, extended = wished, window_of(text, epoch)
  for other in string.gmatch(text, '\n%x+ %d+ ' .. epoch .. ' (%d+) %d+ %d+') do
    latest = math.max(latest, other * 1000)
  end
  if hard then
    latest = math.min(math.max(latest, extended), math.max(hard, extended))
  end
  return string.format('%d', latest)
end
-- The record with this instance as a holder, and under what it is to be filed.
local function hold(record, held, is_mine)
  if not held then
    return string.sub(record, 1, 17) .. lease, file
  end
  return is_mine and record or record .. lease
end
-- The record without this instance, and under what it is to be filed.
local function leave(record, held, text, epoch, wished)
  local from, to = string.find(record, lease, 18, true)
  local left, holder, filed = record, held, nil
  if from then
    left, holder = living(things, string.sub(record, 1, from - 1) .. string.sub(record, to + 1))
    filed = holder and from == 18 and -tonumber(string.sub(holder, -12), 16)
  end
  if not holder then
    left, filed = string.sub(record, 1, 17) .. left_by, soft_end(text, epoch, wished)
  end
  return left, filed
end
-- Without what is too old to be delivered again. A gap since a script looked last may be a jump of the clock: nothing is
-- forgotten then, nor before meta `remember` (see quiet.lua).
local function shortened(text, epoch)
  local known = call('HMGET', meta, 'seen', 'remember')
  local gap = now - (tonumber(known[1]) or 0)
  if gap < 0 or gap > GAP_MAX_MS or now < (tonumber(known[2]) or 0) then
    return text
  end
  return pruned(text, second - window_s, epoch)
end
-- The record of an epoch that was open before, with this instance or left by it, and under what it is to be filed.
local function next_record(thing, epoch, record, text, wish)
  local held = string.byte(record, 18) == 44
  if held and #record > 256 then
    record, held = living(things, record)
  end
  if wish ~= '' then
    return leave(record, held, text, epoch, now + wish)
  end
  if not held then
    local hard, extended = window_of(text, epoch)
    pair(set_ends, string.format('%d', math.max(hard or now + hard_ms, extended or 0)), thing)
  end
  return hold(record, held, string.find(record, lease, 18, true))
end
-- @param own_mark what the marks said of this instance before
-- @param is_new   the epoch begins with this entry
local function count_it(i, entry, epoch, record, text, own_mark, is_new)
  local thing, wish, until_s, before = names[i + 4], args[entry + 4], '0', records[i + 4]
  local new, filed
  if is_new then
    new, filed = first_record(thing, record, wish)
  else
    new, filed = next_record(thing, epoch, record, text, wish)
  end
  if wish ~= '' then
    until_s = string.format('%d', math.ceil((now + wish) / 1000))
  end
  if filed then
    pair(file_due, filed, thing)
  end
  if new ~= before then
    pair(set_things, thing, new)
  end
  if #text > 1024 then
    text = shortened(text, epoch)
  end
  for j = entry + 8, entry + 7 + 3 * args[entry + 6], 3 do
    local name = '@' .. args[j]
    local reached = advanced(mark(text, name), args[j + 2])
    text = marked(text, name, reached .. ' ' .. second)
  end
  local times, publish = 1, args[entry + 3] .. ' ' .. epoch .. ' ' .. until_s .. ' '
  if own_mark then
    local in_epoch, published = string.match(own_mark, '^%d+ (%d+) %d+ (%d+)')
    times = in_epoch == epoch and published + 1 or 1
    text = marked(text, mine, publish .. times .. ' ' .. second)
  else
    text = text .. '\n' .. mine .. ' ' .. publish .. times .. ' ' .. second
  end
  pair(put_parts, thing, text)
  local from = entry + 8 + 3 * args[entry + 6]
  local last = from + args[entry + 7] - 1
  for j = from, last do
    pair(put_parts, args[j], second)
  end
  if last >= from then
    note_ids[#note_ids + 1] = second .. table.concat(args, '', from, last)
  end
  counted = counted + 1
end
-- Writes nothing yet: what it decides goes into the tables above.
local function decide(i)
  local entry, thing, record, text = first[i], names[i + 4], records[i + 4], stored[i] or ''
  local packed = place[i] and (stored[place[i]] or '')
  local number, epoch, part = args[entry + 3], none, args[entry + 5]
  local last, counted_in = '0', none
  local value = mark(text, mine)
  if value then
    last, counted_in = string.match(value, '^(%d+) (%d+)')
  end
  if last == number then
    return 'O' .. counted_in
  end
  local from, start, stop
  if packed then
    epoch = string.sub(record, 1, 16)
    from, start, stop = own(packed)
  end
  local expected = args[entry + 1]
  if last ~= args[entry + 2] or (expected == none and (from or part == '')) or (expected ~= none and expected ~= epoch) then
    return 'S' .. last .. ' ' .. counted_in .. ' ' .. epoch .. ' ' .. (from and 1 or 0)
      .. (from and string.sub(packed, start, stop) or '')
  end
  local refused = seen(text, entry)
  if refused then
    return refused
  end
  if remembers_too_many(text, entry) then
    return 'R'
  end
  local before, after = packed or '', packed or ''
  if part ~= '' then
    after = (from and string.sub(before, 1, from - 1) or before) .. mine .. #part .. ':' .. part
      .. (from and string.sub(before, stop + 1) or '')
    local growth = #after - #before
    bytes = bytes or tonumber(call('HGET', meta, 'bytes') or 0)
    if growth > 0 and bytes + grown + growth > limit then
      return 'F'
    end
    grown = grown + growth
  end
  local is_new = not packed
  if is_new then
    epoch, record, text = begin(thing, record, text)
  end
  if part ~= '' then
    pair(put_parts, epoch .. thing, after)
  end
  count_it(i, entry, epoch, record, text, value, is_new)
  return 'O' .. epoch
end
local reply = {'OK', second + 0}
for i = 1, count do
  reply[i + 2] = decide(i)
end
if counted == 0 then
  return reply
end
if opened then
  pair(set_things, 'E', string.format('%.0f', epochs))
end
local function write(name, key, list)
  if list[1] then
    call(name, key, unpack(list))
  end
end
if grown == 0 and not (set_things[1] or file_due[1] or note_ids[1]) then
  call('HSET', parts, unpack(put_parts))
  return reply
end
local raised = raise(things)
write('ZADD', ends, set_ends)
write('RPUSH', look, set_look)
write('ZADD', due, file_due)
write('RPUSH', ids, note_ids)
if grown ~= 0 then
  call('HINCRBY', meta, 'bytes', grown)
end
write('HSET', things, set_things)
call('HSET', parts, unpack(put_parts))
call('HSET', things, 'U', raised)
return reply
