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
-- Takes the first entries of a list that are a window old; one from a time that has not come yet is from before the clock
-- went back, and is taken as well. Each begins with a second. `each` gets the rest and returns how much it looked at:
-- from the limit on no further entry is taken. Entries leave the list last: a script that is cut inside repeats them.
local function take_old(list, most, each)
  local taken, looked, last_second = 0, 0, math.floor(now / 1000)
  local entries = redis.call('LRANGE', list, 0, most - 1)
  for _, entry in ipairs(entries) do
    if looked >= limit then
      break
    end
    local second, rest = string.match(entry, '^(%d+)(.*)$')
    second = tonumber(second)
    if second * 1000 > now - window_ms and second <= last_second then
      break
    end
    writing()
    looked = looked + each(rest, second > last_second)
    taken = taken + 1
  end
  if taken > 0 then
    redis.call('LPOP', list, taken)
  end
  more = (looked >= limit or taken == most) and 1 or more
end
local second = string.format('%d', now / 1000)
-- The marks of a key go when no epoch of it is open or unfinished, and all of them are too old.
local function forget_marks(thing)
  local text = redis.call('HGET', parts, thing)
  if not text then
    return 1
  end
  if not redis.call('HGET', things, thing) and pruned(text, math.floor((now - window_ms) / 1000)) == '' then
    redis.call('HDEL', parts, thing)
    forgotten = forgotten + 1
  else
    redis.call('RPUSH', look, second .. thing)
  end
  return 1
end
-- The ids of an entry go when they counted a window ago. Those that count since the time of another entry stay for it.
local function forget_ids(packed, from_the_future)
  local names, old = {}, {}
  for at = 1, #packed, 17 do
    names[#names + 1] = string.sub(packed, at, at + 16)
  end
  for i, counted in ipairs(redis.call('HMGET', parts, unpack(names))) do
    if counted and counted * 1000 <= now - window_ms then
      old[#old + 1] = names[i]
    elseif counted and from_the_future then
      redis.call('HSET', parts, names[i], second)
      redis.call('RPUSH', ids, second .. names[i])
    end
  end
  if old[1] then
    redis.call('HDEL', parts, unpack(old))
    forgotten = forgotten + #old
  end
  return #names
end
if now >= quiet_until then
  end_epochs()
  redis.call('ZREMRANGEBYSCORE', kept, '-inf', now)
  if now >= tonumber(known[3] or 0) then
    take_old(look, limit, forget_marks)
    take_old(ids, math.ceil(limit / 16), forget_ids) -- an entry has up to a thousand ids
  end
end
if raised then
  redis.call('HSET', things, 'U', raised)
end
local soonest = redis.call('ZRANGE', ends, 0, 0, 'WITHSCORES')[2]
return {'OK', soonest and math.max(0, soonest - now) or -1, frozen, forgotten, tonumber(known[1] or 0), more}
