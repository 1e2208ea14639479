#!lua
-- Puts an instance's parts of aggregates, and makes the instance a holder of them or lets it leave. An entry is
--   thing epoch base number leave-ms part n m, then n times source from to, then m ids
-- It counts only on top of what the instance knows to be counted (base), in the epoch it was made for (zeros: the instance
-- has no part in the open one), and only if none of its positions was seen before. Repeated, it changes nothing.
-- The answer to an entry:
--   O EPOCH                            it counts, in that epoch
--   S LAST EPOCH OPEN HAS PART         it does not: the last number that counts and its epoch, the open epoch, own part
--   P \n@SOURCE POSITION \n#INDEX      it does not: these positions were seen
--   F                                  it does not: too many bytes wait for the sink
-- KEYS  meta things due parts marks ends ids
-- ARGV  part lease file hard-ms window-s limit entries…
-- REPLY status entries…
--@include ../hold/time.lua
--@include ../hold/living.lua
--@include marks.lua
local call, args, none = redis.call, ARGV, '0000000000000000'
local mine, lease, file = args[1], args[2], args[3]
local first, things, count, at = {}, {'E', lease}, 0, 7
while at <= #args do
  count = count + 1
  first[count], things[count + 2] = at, args[at]
  at = at + 8 + 3 * args[at + 6] + args[at + 7]
end
local got = call('HMGET', KEYS[2], unpack(things))
if not got[2] then
  return {'LAPSED'}
end
local now, us = clock()
local second = string.format('%d', now / 1000)
local marks = call('HMGET', KEYS[5], unpack(things, 3))
local fields, asked, parts = {}, {}, {}
for i = 1, count do
  local record = got[i + 2]
  if record and string.byte(record) ~= 48 then
    fields[#fields + 1] = string.sub(record, 1, 16) .. things[i + 2]
    asked[#fields] = i
  end
end
if fields[1] then
  for i, value in ipairs(call('HMGET', KEYS[4], unpack(fields))) do
    parts[asked[i]] = value or ''
  end
end
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
local function seen(text, entry)
  local refused, sources, ids = nil, args[entry + 6] + 0, args[entry + 7] + 0
  for i = entry + 8, entry + 7 + 3 * sources, 3 do
    local value = mark(text, '@' .. args[i])
    local position = value and string.match(value, '^%d+')
    if position and tonumber(args[i + 1]) <= tonumber(position) then
      refused = (refused or 'P') .. '\n@' .. args[i] .. ' ' .. position
    end
  end
  if ids > 0 then
    local from = entry + 8 + 3 * sources
    for chunk = from, from + ids - 1, 1000 do
      local last = math.min(chunk + 999, from + ids - 1)
      for i, score in ipairs(call('ZMSCORE', KEYS[7], unpack(args, chunk, last))) do
        if score then
          refused = (refused or 'P') .. '\n#' .. (chunk - from + i - 1)
        end
      end
    end
  end
  return refused
end
local bytes, grown, limit = nil, 0, tonumber(args[6])
local sets, set, files, filed, ends, ended = {}, 0, {}, 0, {}, 0
local puts, put, notes, noted, epochs, opened = {}, 0, {}, 0, got[1] + 0, false
-- Writes nothing yet: what it decides goes into the tables above.
local function decide(i)
  local entry, thing, record, text, packed = first[i], things[i + 2], got[i + 2], marks[i] or '', parts[i]
  local number, epoch, part = args[entry + 3], none, args[entry + 5]
  local last, counted = '0', none
  local value = mark(text, mine)
  if value then
    last, counted = string.match(value, '^(%d+) (%d+)')
  end
  if last == number then
    return 'O' .. counted
  end
  local from, begin, stop
  if packed then
    epoch = string.sub(record, 1, 16)
    from, begin, stop = own(packed)
  end
  local expected = args[entry + 1]
  if last ~= args[entry + 2] or (expected == none and (from or part == '')) or (expected ~= none and expected ~= epoch) then
    return 'S' .. last .. ' ' .. counted .. ' ' .. epoch .. ' ' .. (from and 1 or 0)
      .. (from and string.sub(packed, begin, stop) or '')
  end
  local refused = seen(text, entry)
  if refused then
    return refused
  end
  local before, after = packed or '', packed or ''
  if part ~= '' then
    after = (from and string.sub(before, 1, from - 1) or before) .. mine .. #part .. ':' .. part
      .. (from and string.sub(before, stop + 1) or '')
    local growth = #after - #before
    bytes = bytes or tonumber(call('HGET', KEYS[1], 'bytes') or 0)
    if growth > 0 and bytes + grown + growth > limit then
      return 'F'
    end
    grown = grown + growth
  end
  -- It counts.
  if not packed then
    epochs = math.max(epochs + 1, us)
    epoch = string.format('%.0f', epochs)
    record = epoch .. (record and string.sub(record, 17, 17) or '0')
    opened = true
  end
  if part ~= '' then
    puts[put + 1], puts[put + 2], put = epoch .. thing, after, put + 2
  end
  local held, leave, until_s, new = string.byte(record, 18) == 44, args[entry + 4], '0', record
  if held and #record > 256 then
    record, held = living(KEYS[2], record)
    new = record
  end
  local at_first, at_last = string.find(record, lease, 18, true)
  local score
  if leave == '' then
    if not held then
      -- Without a holder its soft window ends it before the hard one does.
      local ends_at = packed and math.max(now, string.sub(epoch, 1, -4) + args[4]) or now + args[4]
      ends[ended + 1], ends[ended + 2], ended = string.format('%d', ends_at), thing, ended + 2
      new, score = string.sub(record, 1, 17) .. lease, file
    elseif not at_first then
      new = record .. lease
    end
  else
    local holder
    local due = now + leave
    until_s = string.format('%d', math.ceil(due / 1000))
    if at_first then
      new, holder = living(KEYS[2], string.sub(record, 1, at_first - 1) .. string.sub(record, at_last + 1))
      score = holder and at_first == 18 and -tonumber(string.sub(holder, -12), 16)
    elseif held then
      holder = true
    end
    if not holder then
      for other in string.gmatch(text, '\n%x+ %d+ ' .. epoch .. ' (%d+) %d+') do
        due = math.max(due, other * 1000)
      end
      new, score = string.sub(record, 1, 17) .. '-left by ' .. string.sub(lease, 2),
        string.format('%d', due)
    end
  end
  if score then
    files[filed + 1], files[filed + 2], filed = score, thing, filed + 2
  end
  if new ~= got[i + 2] then
    sets[set + 1], sets[set + 2], set = thing, new, set + 2
  end
  if #text > 1024 then
    text = pruned(text, second - args[5])
  end
  for j = entry + 8, entry + 7 + 3 * args[entry + 6], 3 do
    text = marked(text, '@' .. args[j], args[j + 2] .. ' ' .. second)
  end
  text = marked(text, mine, number .. ' ' .. epoch .. ' ' .. until_s .. ' ' .. second)
  notes[noted + 1], notes[noted + 2], noted = thing, text, noted + 2
  return 'O' .. epoch
end
local reply = {'OK'}
for i = 1, count do
  reply[i + 1] = decide(i)
end
if noted == 0 then
  return reply
end
if opened then
  sets[set + 1], sets[set + 2], set = 'E', string.format('%.0f', epochs), set + 2
end
if ended > 0 then
  call('ZADD', KEYS[6], unpack(ends))
end
if set > 0 then
  call('HSET', KEYS[2], unpack(sets))
end
if filed > 0 then
  call('ZADD', KEYS[3], unpack(files))
end
if put > 0 then
  call('HSET', KEYS[4], unpack(puts))
  call('HINCRBY', KEYS[1], 'bytes', grown)
end
call('HSET', KEYS[5], unpack(notes))
for i = 1, count do
  local entry = first[i]
  local ids = args[entry + 7] + 0
  if ids > 0 and string.byte(reply[i + 1]) == 79 then
    local from = entry + 8 + 3 * args[entry + 6]
    for chunk = from, from + ids - 1, 1000 do
      local adds = {}
      for j = chunk, math.min(chunk + 999, from + ids - 1) do
        adds[#adds + 1], adds[#adds + 2] = now, args[j]
      end
      call('ZADD', KEYS[7], 'NX', unpack(adds))
    end
  end
end
return reply
