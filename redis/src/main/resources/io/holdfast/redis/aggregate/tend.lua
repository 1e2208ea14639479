#!lua flags=allow-oom
-- Ends epochs whose hard window is over, and forgets what nobody can deliver again any more; a limit of each at a time.
-- Ends nothing in quiet time, and forgets nothing before meta `remember`: see quiet.lua.
-- Repeat: harmless.
-- KEYS  meta things due closing claims parts ends look kept ids deadlines lengths
-- ARGV  limit window-s by
-- REPLY status next-ms frozen forgotten bytes more
--@include ../lease/time.lua
--@include ../lease/quiet.lua
--@include ../hold/tally.lua
--@include marks.lua
--@include frozen.lua
local meta, things, due, closing, claims, parts, ends, look, kept, ids, deadlines, lengths = unpack(KEYS)
local limit, now, frozen, forgotten, more, raised = tonumber(ARGV[1]), clock(), 0, 0, 0, nil
local got = redis.call('HMGET', things, 'T', 'U')
if is_torn(got[1], got[2]) then
  return redis.error_reply(TORN)
end
local quiet_until = quiet(meta, lengths, deadlines, now)
local known = redis.call('HMGET', meta, 'bytes', 'window', 'remember')
local window_ms = (known[2] or ARGV[2]) * 1000 -- in seconds, as noted by those who add
local function writing()
  raised = raised or raise(things)
end
local function end_epochs()
  local keys = {things = things, due = due, closing = closing, claims = claims, ends = ends, kept = kept}
  local ended = redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, limit)
  for _, thing in ipairs(ended) do
    local record = redis.call('HGET', things, thing)
    local is_open = record and string.byte(record) ~= 48
    local hard, extended
    if is_open then
      hard, extended = window_of(redis.call('HGET', parts, thing) or '', string.sub(record, 1, 16))
    end
    writing()
    if not is_open then
      redis.call('ZREM', ends, thing)
    elseif hard and math.max(hard, extended) > now then
      redis.call('ZADD', ends, math.max(hard, extended), thing)
    elseif freeze(keys, thing, record, now, ARGV[3], 'the hard window ended') then
      frozen = frozen + 1
    else
      redis.call('ZADD', ends, now + 1000, thing)
    end
  end
  more = #ended == limit and 1 or more
end
-- The marks of a key go when no epoch of it is open or unfinished, and all of them are too old.
local function forget_marks()
  local looked = redis.call('ZRANGEBYSCORE', look, '-inf', now, 'LIMIT', 0, limit)
  for _, thing in ipairs(looked) do
    local record = redis.call('HGET', things, thing)
    local text = redis.call('HGET', parts, thing) or ''
    writing()
    if not record and pruned(text, math.floor((now - window_ms) / 1000)) == '' then
      redis.call('ZREM', look, thing)
      redis.call('HDEL', parts, thing)
      forgotten = forgotten + 1
    else
      redis.call('ZADD', look, now + window_ms, thing)
    end
  end
  more = #looked == limit and 1 or more
end
local function forget_ids()
  local old = redis.call('ZRANGEBYSCORE', ids, '-inf', now - window_ms, 'LIMIT', 0, limit)
  if old[1] then
    writing()
    local fields = {}
    for i, id in ipairs(old) do
      fields[i] = '#' .. id
    end
    redis.call('ZREM', ids, unpack(old))
    redis.call('HDEL', parts, unpack(fields))
    forgotten = forgotten + #old
  end
  more = #old == limit and 1 or more
end
if now >= quiet_until then
  end_epochs()
  redis.call('ZREMRANGEBYSCORE', kept, '-inf', now)
  if now >= tonumber(known[3] or 0) then
    forget_marks()
    forget_ids()
  end
end
if raised then
  redis.call('HSET', things, 'U', raised)
end
local soonest = redis.call('ZRANGE', ends, 0, 0, 'WITHSCORES')[2]
return {'OK', soonest and math.max(0, soonest - now) or -1, frozen, forgotten, tonumber(known[1] or 0), more}
