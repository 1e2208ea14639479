#!lua flags=allow-oom
-- Makes the indexes of aggregates again from the records, a page a call, after a script was torn. The hold records (things,
-- due, closing, claims) are right already. First cursor 0; a cursor in the reply is given to the next call, 0: done.
--   pages of things   every open key has its entry in `ends`, an extended one in `kept`; an open epoch without parts is
--                     taken out: nothing counts in it
--   pages of parts    parts of an epoch that is neither open nor closing are deleted; `bytes` is counted anew; every key
--                     with marks has its entry in `look`, and every id one in `ids`
-- Repeat: harmless, with the same cursor. `sizes` remembers what was counted, and is deleted at the end.
-- KEYS  meta things due closing parts ends look kept ids sizes
-- ARGV  cursor
-- REPLY cursor
--@include ../lease/time.lua
--@include marks.lua
local meta, things, due, closing, parts, ends, look, kept, ids, sizes = unpack(KEYS)
local PAGE = 256
local now = clock()
local phase, cursor = string.match(ARGV[1], '^(%a?)(%d+)$')
local noted = redis.call('HMGET', meta, 'hard', 'window')
local hard_ms, window_ms = tonumber(noted[1] or 1800000), (noted[2] or 3600) * 1000
local function open_key(thing, record)
  local epoch = string.sub(record, 1, 16)
  if redis.call('HEXISTS', parts, epoch .. thing) == 0 then
    redis.call('ZREM', due, thing)
    redis.call('ZREM', ends, thing)
    redis.call('ZREM', kept, thing)
    if string.byte(record, 17) == 48 then
      redis.call('HDEL', things, thing)
    else
      redis.call('HSET', things, thing, '0000000000000000' .. string.sub(record, 17, 17))
    end
    return
  end
  local hard, extended = window_of(redis.call('HGET', parts, thing) or '', epoch)
  redis.call('ZADD', ends, math.max(hard or now + hard_ms, extended or 0), thing)
  if extended and extended > now then
    redis.call('ZADD', kept, extended, thing)
  end
end
local function packed_part(field, value)
  local thing = string.sub(field, 17)
  local record = redis.call('HGET', things, thing) or ''
  if string.sub(record, 1, 16) ~= string.sub(field, 1, 16) and redis.call('HEXISTS', closing, field) == 0 then
    redis.call('HDEL', parts, field)
  elseif redis.call('HSET', sizes, field, #value) == 1 then
    redis.call('HINCRBY', meta, 'bytes', #value)
  end
end
if phase == '' then
  if cursor == '0' then
    redis.call('UNLINK', sizes)
    redis.call('HSET', meta, 'bytes', 0)
  end
  local page = redis.call('HSCAN', things, cursor, 'COUNT', PAGE)
  for i = 1, #page[2], 2 do
    local thing, record = page[2][i], page[2][i + 1]
    if string.byte(thing) == 61 and string.byte(record) ~= 48 then
      open_key(thing, record)
    end
  end
  return {page[1] == '0' and 'p0' or page[1]}
end
local page = redis.call('HSCAN', parts, cursor, 'COUNT', PAGE)
for i = 1, #page[2], 2 do
  local field, value = page[2][i], page[2][i + 1]
  local kind = string.byte(field)
  if kind == 61 then
    redis.call('ZADD', look, 'NX', now + window_ms, field)
  elseif kind == 35 then
    redis.call('ZADD', ids, 'NX', value * 1000, string.sub(field, 2))
  else
    packed_part(field, value)
  end
end
if page[1] == '0' then
  redis.call('UNLINK', sizes)
  return {'0'}
end
return {'p' .. page[1]}
