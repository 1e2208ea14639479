#!lua flags=allow-oom
-- One bounded step of reclaiming: leases past their deadline are marked dead for good, then what they held is
-- released, then what nobody holds is freed, newest first. Any number of clients may call it at once.
-- KEYS  meta values counts edges leases lease-info held doomed ledger changed incoming
-- ARGV  by space budget capacity listen
-- REPLY status freed edges pending next reason cause packed heard
local meta, values, counts, edges, leases, info, held, doomed, ledger, changed, incoming = unpack(KEYS)
--@include clock.lua
--@include shard.lua
--@include names.lua
--@include collect.lua
--@include shelves.lua
--@include lease.lua
--@include lines.lua
--@include settle.lua
--@include leave.lua
--@include cascade.lua

local by, space, capacity = ARGV[1], ARGV[2], ARGV[4]
budget = math.ceil(tonumber(ARGV[3]) / (has_clock and 1 or 2))

-- How many bytes all clients together have sent this server, if the caller wants to know.
local heard = '-1'
if ARGV[5] == '1' then
  local statistics = redis.call('INFO', 'stats')
  local _, at = string.find(statistics, 'total_net_input_bytes:', 1, true)
  heard = at and string.match(statistics, '^%d+', at + 1) or '-1'
end

if quiet() or marked then
  local status, until_then = 'MARKED', marked_until
  if quiet() then status, until_then = 'QUIET', tonumber(about[3]) end
  local answer = {status, 0, 0, redis.call('LLEN', doomed), digits(until_then - now), '', '', {}, heard}
  collect()
  return answer
end

-- The lease that lapses first, as it is now, and when.
local function first_lease()
  local first = redis.call('ZRANGE', leases, '0', '0', 'WITHSCORES')
  return first[1], tonumber(first[2])
end

local first, deadline = first_lease()
local lapsed = first and deadline <= now and redis.call('ZRANGEBYSCORE', leases, '-inf', digits(now), 'LIMIT', '0', '16') or {}
for _, lease in ipairs(lapsed) do
  local it = read_lease(lease)
  note({lease})
  redis.call('ZREM', leases, lease)
  redis.call('HDEL', info, lease)
  if it and it.state == 'a' then
    redis.call('RPUSH', doomed, hint('l', 'Llease of ' .. it.holder .. ' lapsed', lease))
    redis.call('XADD', ledger, 'MAXLEN', '~', capacity, '*', 'k', 'LEASE', 's', space, 'r', 'LAPSED',
      'e', 'not renewed for ' .. digits(it.length) .. ' ms', 'b', by, 'i', #it.holder .. ':' .. it.holder)
  end
  spent = spent + 8
end

local SHRINKING = 200 -- units: what it takes at most to take chunks off a large value

-- Takes a chunk off a large value that nobody holds. Answers the ids that nobody holds now, and the units spent.
local function shrink(id, count)
  local v, e = string.match(count, '|(%d+),(%d+)$')
  v, e = tonumber(v), tonumber(e)
  local dead, done = {}, 0
  if e > 0 then
    local field = chunk(id, e - 1)
    local list = redis.call('HGET', key_of(edges, field), field) or ''
    if #list % width ~= 0 then -- not written by us
      redis.call('HINCRBY', meta, 'miscounts', 1)
      list = ''
    end
    dead = release(list)
    redis.call('HDEL', key_of(edges, field), field)
    done = #list / width
    cut = cut + done
    e = e - 1
  else
    for _ = 1, math.min(v, 4) do
      v = v - 1
      chunks_gone = chunks_gone + redis.call('HDEL', key_of(values, id), chunk(id, v))
      done = done + 48 -- to give 256 KiB back takes the server as long as to cut so many edges
    end
  end
  if v == 0 and e == 0 then
    gone[#gone + 1] = id
    large_gone = large_gone + 1
  else
    redis.call('HSET', key_of(counts, id), id, 'd|' .. v .. ',' .. e)
    pending[#pending + 1] = id
  end
  return dead, done
end

-- Releases some of what a dead lease held. Answers the ids that nobody holds now, how many holds, and if there are more.
local function release_lease(lease, most)
  local members = redis.call('ZRANGEBYLEX', held, '[' .. lease, '[' .. lease .. string.rep('\255', width), 'LIMIT', '0', most)
  note({lease})
  if #members == 0 then return {}, 0, false end
  local ids = {}
  for i, member in ipairs(members) do ids[i] = string.sub(member, #lease + 1) end
  redis.call('ZREM', held, unpack(members))
  return release(table.concat(ids)), #members, #members == most
end

-- Takes the dead ones among some ids of the work list, which is hints: whatever was taken back meanwhile stays. States: what
-- counts has of them.
local function examine(ids, states)
  local dead, full = {}, false
  for i = 1, #ids do
    local id = ids[i]
    -- A value that was taken back and doomed again has two hints, and is freed once.
    local count = not is_doomed[id] and states[i]
    if count == '0' then
      dead[#dead + 1] = id
      is_doomed[id] = true
    elseif count and (string.sub(count, 1, 2) == '0|' or string.sub(count, 1, 1) == 'd') then
      full = full or room() < SHRINKING and (cut > 0 or chunks_gone > 0 or #gone > 0)
      if not full then
        local more, done = shrink(id, count)
        is_doomed[id] = true
        spent = spent + done + ROUND
        for _, other in ipairs(more) do dead[#dead + 1] = other end
      else
        pending[#pending + 1] = id
      end
    end
  end
  return dead
end

-- What counts has of ids of the work list; fails where it cannot be read, of them or of leaves of the same shelf, which come next.
local function states_of(ids)
  local states, place = get_all(counts, ids)
  if place and place ~= ALL and place < LEAF then redis.call('HLEN', on(counts, place + LEAF)) end
  return states
end

local taken = 0 -- ids that were taken off the work list

-- Takes ids off the end of the work list, whose last element is given: no more than there is likely to be room for, by what
-- those before took, as what was looked at in vain is looked at again. Works of one value each, as a root leaves them that
-- moves on, are taken together if they may: those of several are generations of a family, and apart they cost less. Answers
-- them and what counts has of them, which is asked before: where it cannot be read, they stay.
local function take_ids(work, head, together)
  local most = width * (taken == 0 and 16 or math.min(64, math.max(8, math.floor(room() * taken / spent))))
  local list = string.sub(work, #head + 1)
  if #list > most then
    local ids = ids_of(string.sub(list, -most))
    local states = states_of(ids)
    redis.call('LSET', doomed, '-1', head .. string.sub(list, 1, -most - 1))
    return ids, states
  end
  local whole = 1
  while together and #list == whole * width and #list < most do
    local next_work = redis.call('LINDEX', doomed, -1 - whole)
    if not next_work or #next_work ~= #head + width or string.sub(next_work, 1, #head) ~= head then break end
    list = string.sub(next_work, #head + 1) .. list
    whole = whole + 1
  end
  local ids = ids_of(list)
  local states = states_of(ids)
  redis.call('LTRIM', doomed, '0', -1 - whole)
  spent = spent + whole - 1
  return ids, states
end

-- The last element of the work list, and where its cause ends. What nobody of us has written is taken off, a few at a time.
local function last_work()
  for _ = 1, 64 do
    local work = redis.call('LINDEX', doomed, '-1')
    if not work then return nil end
    local cause_end = 2 + (string.byte(work, 2) or 0)
    local kind, payload = string.sub(work, 1, 1), #work - cause_end
    if payload > 0 and reason(string.sub(work, 3)) and (kind == 'l' or kind == 'v' and payload % width == 0) then
      return work, cause_end
    end
    redis.call('RPOP', doomed)
    redis.call('HINCRBY', meta, 'miscounts', 1)
  end
end

-- One cause a call, so that the record of it is true.
local cause
local left, begins = {}, {}
while (not cause or room() > 0) and #pending == 0 and #left == 0 do
  local work, cause_end = last_work()
  if not work then break end
  local this = string.sub(work, 3, cause_end)
  if cause and this ~= cause then break end
  local is_first = not cause
  cause = this
  local dead
  if string.sub(work, 1, 1) == 'l' then
    local done, more
    dead, done, more = release_lease(string.sub(work, cause_end + 1), math.max(16, math.min(128, math.floor(room()))))
    if not more then redis.call('RPOP', doomed) end
    spent = spent + done + ROUND
  else
    local head = string.sub(work, 1, cause_end)
    local is_read, ids, states = pcall(take_ids, work, head, true)
    if not is_read then is_read, ids, states = pcall(take_ids, work, head, false) end
    if not is_read and is_first then -- out of the way of the others; it is told again when its turn comes again
      redis.call('LPUSH', doomed, work)
      redis.call('RPOP', doomed)
      collect()
      return ids
    end
    if not is_read then break end -- what was done before is finished
    taken = taken + #ids
    spent = spent + #ids + ROUND
    dead = examine(ids, states)
  end
  left, begins = cascade(dead)
end

local all = cause and finish(left, cause, by, space, capacity, begins) or {}
if not cause then redis.call('UNLINK', incoming) end -- what a client left that died when its script was unknown
if #lapsed > 0 then first, deadline = first_lease() end
local answer = {'OK', freed, cut, redis.call('LLEN', doomed), first and digits(math.max(0, deadline - now)) or '-1',
  cause and reason(cause) or '', cause and string.sub(cause, 2) or '',
  all, heard}
collect()
return answer
