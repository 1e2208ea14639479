#!lua flags=allow-oom
-- Does the next of the queued work, newest segments first, and says which comes next: the next call declares it.
-- Statuses: OK; QUIET: nothing may be freed for wait-ms; BUSY: another client drains.
-- Repeat: harmless, does the next of the work.
-- KEYS  meta doomed segments small ids ledger leases lengths noted v-e-c-h…
-- ARGV  budget order ahead by space capacity
-- REPLY status freed left wait-ms late next sparse
-- Arguments
--   budget  units of work, about a microsecond each; one segment more may be begun
--   order   ZREVRANGE; or ZRANGE, oldest first, where releases meet, while there is much work
-- Reply
--   left    items of work that are queued           wait-ms  until the next lease is past its deadline; -1: there is none
--   late    leases that are past it                 next     whole segments to be declared in the next call
--   sparse  whole segments with few values left, to be packed
--@include call.lua
--@include content.lua
--@include ending.lua
local meta, doomed, segments, small, ids, ledger, leases, lengths, noted = unpack(KEYS, 1, 9)
local budget, order, ahead = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local by, space, capacity = unpack(ARGV, 4, 6)
local ITEMS, LATE, SPARSE, DRAINER_MS = 128, 16, 24, 3000

local call, refused = begin(meta)
if refused then return refused end
local now = clock()
local quiet_until, _, paused = quiet(meta, lengths, leases, now)
local wait_until = math.max(quiet_until, call.mark, paused ~= '' and now + 1000 or 0)
if now < wait_until then return {'QUIET', 0, 0, wait_until - now, {}, {}, {}} end
local drains, until_ms = string.match(call.drainer or '', '^(%S+) (%d+)$')
if drains and drains ~= by and now < tonumber(until_ms) then
  return {'BUSY', 0, 0, until_ms - now, {}, {}, {}}
end

local declared = {}
for i = 10, #KEYS, 4 do
  declared[name_of(KEYS[i])] = {v = KEYS[i], e = KEYS[i + 1], c = KEYS[i + 2], h = KEYS[i + 3]}
end
local work, sparse = new_work(), {}

-- Sorts the items of one segment into what is to be erased and what is to be given up. Answers the next item's place.
local function collect(items, at, it)
  while items[at] and string.sub(items[at], 1, 16) == it.name do
    local _, stop, holds, values = string.find(items[at], '^%S+ %d+ (%d+) (%S+) ')
    it.cause = string.sub(items[at], stop + 1)
    if holds == '0' then
      it.erase[#it.erase + 1] = values
    else
      it.lists[#it.lists + 1] = values
      it.holds = it.holds + holds
    end
    at = at + 1
  end
  return at
end

local items = redis.call(order, doomed, 0, ITEMS - 1)
local at = 1
if items[1] then
  open_tally(call)
  redis.call('HSET', meta, 'drainer', by .. ' ' .. string.format('%.0f', now + DRAINER_MS))
end
while items[at] and work.spent < budget do
  local it = {name = string.sub(items[at], 1, 16), keys = nil, erase = {}, lists = {}, holds = 0}
  it.keys = declared[it.name]
  if not it.keys and redis.call('HEXISTS', small, it.name) == 0 then
    break -- a whole segment that this call did not declare
  end
  local from = at
  at = collect(items, at, it)
  redis.call('ZREM', doomed, unpack(items, from, at - 1))
  local given = work.given[it.name]
  if given then -- by segments that this call had before
    work.given[it.name] = nil
    it.lists[#it.lists + 1], it.holds = table.concat(given, ','), it.holds + given.holds
  end
  if it.erase[1] then
    erase(work, it, segments, small)
  end
  if it.holds > 0 then
    local seg = load_segment(small, it.name, it.keys)
    give_up_on(work, seg, it, budget)
    write_endings(work, ids)
    if seg and seg.keys and seg.there > 0 and seg.there <= SPARSE then
      sparse[#sparse + 1] = it.name
    end
  end
end
local freed = 0
if items[1] then
  queue_work(call, doomed, work)
  freed = record_freed(work, ledger, capacity, space, by)
  if work.miscounts then redis.call('HINCRBY', meta, 'miscounts', work.miscounts) end
  call.values = call.values - freed
  close_tally(call, noted)
end

local next_segments, seen = {}, nil
for _, item in ipairs(redis.call(order, doomed, 0, ahead - 1)) do
  local name = string.sub(item, 1, 16)
  if name ~= seen and redis.call('HEXISTS', small, name) == 0 then
    next_segments[#next_segments + 1] = name
  end
  seen = name
end
local late = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'LIMIT', 0, LATE)
local deadline = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')[2]
local wait = deadline and math.max(0, deadline - now) or -1
return {'OK', freed, redis.call('ZCARD', doomed), wait, late, next_segments, sparse}
