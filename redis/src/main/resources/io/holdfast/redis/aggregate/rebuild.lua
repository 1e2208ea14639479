#!lua flags=allow-oom
-- Rebuilds the indexes of aggregates from the records, one page a call: the phase `rest` of hold/rebuild.lua. The hold
-- records (things, due, closing, claims) are right already. Where it stands is in meta `rest`, so that any number of
-- instances may call.
-- Repeat: does the next page. Phases, in order:
--   things   every open key has its entry in `ends`, an extended one in `kept`; an open epoch without parts is taken out:
--            nothing counts in it
--   parts    parts of an epoch that is neither open nor closing are deleted; `bytes` is counted anew; every key with marks
--            has an entry in `look`, and every id one in `ids`; a scan may return a field twice, and two entries do no harm
-- `sizes` has what was counted, since a scan may return a field twice; it is deleted at the end.
-- KEYS  meta things due closing parts ends look kept ids sizes
-- ARGV
-- REPLY status
-- Status: MORE: call again; DONE: also if the shard is not in this phase.
--@include ../lease/time.lua
--@include marks.lua
local meta, things, due, closing, parts, ends, look, kept, ids, sizes = unpack(KEYS)
local PAGE = 256
local now = clock()
local noted = redis.call('HMGET', meta, 'hard', 'rebuild', 'rest')
local hard_ms = tonumber(noted[1] or 1800000)
if string.sub(noted[2] or '', 1, 5) ~= 'rest ' or noted[3] == 'done 0' then
  return {'DONE'}
end
local phase, cursor = string.match(noted[3] or '', '^(%a+) (%d+)$')
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
if not phase then
  phase, cursor = 'things', '0'
  redis.call('UNLINK', sizes, look, ids)
  redis.call('HSET', meta, 'bytes', 0)
end
local page = redis.call('HSCAN', phase == 'things' and things or parts, cursor, 'COUNT', PAGE)
for i = 1, #page[2], 2 do
  local field, value = page[2][i], page[2][i + 1]
  local kind = string.byte(field)
  if phase == 'things' then
    if kind == 61 and string.byte(value) ~= 48 then
      open_key(field, value)
    end
  elseif kind == 61 then
    redis.call('RPUSH', look, string.format('%d', now / 1000) .. field)
  elseif kind == 35 then
    redis.call('RPUSH', ids, value .. field)
  else
    packed_part(field, value)
  end
end
cursor = page[1]
if cursor == '0' then
  phase = phase == 'things' and 'parts' or 'done'
end
if phase == 'done' then
  redis.call('UNLINK', sizes)
end
redis.call('HSET', meta, 'rest', phase .. ' ' .. cursor)
return {phase == 'done' and 'DONE' or 'MORE'}
