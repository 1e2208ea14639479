#!lua flags=allow-oom
-- One bounded step of reclaiming: leases past their deadline are marked dead for good, then what they held is
-- released, then what nobody holds is freed, newest first. Any number of clients may call it at once.
-- KEYS  meta values counts edges leases lease-info held doomed ledger changed
-- ARGV  by space budget capacity
-- REPLY status freed edges pending next reason cause packed
local meta, values, counts, edges, leases, info, held, doomed, ledger, changed = unpack(KEYS)
--@include shard.lua
--@include lease.lua
--@include settle.lua

local by, space, budget, capacity = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

if quiet() then
  return {'QUIET', 0, 0, redis.call('LLEN', doomed), digits(tonumber(about[3]) - now), '', '', ''}
end

for _, lease in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'LIMIT', 0, 32)) do
  local it = read_lease(lease)
  note({lease})
  redis.call('ZREM', leases, lease)
  redis.call('HDEL', info, lease)
  if it and it.state == 'a' then
    redis.call('RPUSH', doomed, hint('l', 'Llease of ' .. it.holder .. ' lapsed', lease))
    redis.call('XADD', ledger, 'MAXLEN', '~', capacity, '*', 'k', 'LEASE', 's', space, 'r', 'LAPSED',
      'e', 'not renewed for ' .. digits(it.length) .. ' ms', 'b', by, 'i', #it.holder .. ':' .. it.holder)
  end
end

-- Takes a chunk off a large value that nobody holds. Answers the ids that nobody holds now, and the edges done.
local function shrink(id, count)
  local v, e = string.match(count, '|(%d+),(%d+)$')
  v, e = tonumber(v), tonumber(e)
  local dead, done = {}, 0
  if e > 0 then
    local field = chunk(id, e - 1)
    local list = redis.call('HGET', edges, field) or ''
    local order, drop = {}, {}
    tally(list, order, drop)
    dead = release(order, drop)
    redis.call('HDEL', edges, field)
    done = #list / width
    e = e - 1
  else
    for _ = 1, math.min(v, 4) do
      v = v - 1
      chunks_gone = chunks_gone + redis.call('HDEL', values, chunk(id, v))
    end
    done = 64
  end
  if v == 0 and e == 0 then
    freed[#freed + 1] = id
    gone_counts[#gone_counts + 1] = id
    large_gone = large_gone + 1
  else
    redis.call('HSET', counts, id, 'd|' .. v .. ',' .. e)
    pending[#pending + 1] = id
  end
  return dead, done
end

-- Releases some of what a dead lease held; puts itself back on the work list if there is more.
local function release_lease(lease, cause, most)
  local members = redis.call('ZRANGEBYLEX', held, '[' .. lease, '[' .. lease .. string.rep('\255', width), 'LIMIT', 0, most)
  note({lease})
  if #members == 0 then return {}, 0 end
  local order, drop = {}, {}
  for i, member in ipairs(members) do
    order[i] = string.sub(member, #lease + 1)
    drop[order[i]] = 1
  end
  redis.call('ZREM', held, unpack(members))
  if #members == most then redis.call('RPUSH', doomed, hint('l', cause, lease)) end
  return release(order, drop), #members
end

-- One cause a call, so that the record of it is true; small works of the same cause are taken together.
local cause
local spent = 0
local left = {}
while spent < budget and #pending == 0 and #left == 0 do
  local work = redis.call('LINDEX', doomed, -1)
  if not work then break end
  local cause_end = 2 + string.byte(work, 2)
  local this = string.sub(work, 3, cause_end)
  if cause and this ~= cause then break end
  cause = this
  redis.call('RPOP', doomed)
  local dead = {}
  if string.sub(work, 1, 1) == 'l' then
    local done
    dead, done = release_lease(string.sub(work, cause_end + 1), cause, math.min(256, budget))
    spent = spent + done + 8
  else
    local ids = ids_of(string.sub(work, cause_end + 1))
    local states = redis.call('HMGET', counts, unpack(ids))
    for i, id in ipairs(ids) do
      local count = states[i]
      if count == '0' then
        dead[#dead + 1] = id
        gone_counts[#gone_counts + 1] = id
      elseif count and (string.sub(count, 1, 2) == '0|' or string.sub(count, 1, 1) == 'd') then
        if spent < budget then
          local more, done = shrink(id, count)
          spent = spent + done
          for _, other in ipairs(more) do dead[#dead + 1] = other end
        else
          pending[#pending + 1] = id
        end
      end
    end
    spent = spent + 8
  end
  local done
  left, done = cascade(dead, budget - spent)
  spent = spent + done
end

if cause then finish(left, cause, by, space, capacity) end
local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
return {'OK', #freed, cut, redis.call('LLEN', doomed), first[2] and digits(math.max(0, first[2] - now)) or '-1',
  cause and reason(cause) or '', cause and string.sub(cause, 2) or '',
  table.concat(freed)}
