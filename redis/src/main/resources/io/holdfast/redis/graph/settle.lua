-- Gives up holds and frees what nobody holds any longer.
-- Needs: meta, values, counts, edges, doomed, ledger, and what shard.lua gives.

local freed = {}      -- ids freed in this call
local gone_counts = {} -- those of them that have an entry in counts
local gone_edges = {}  -- those of them that have children
local pending = {}    -- large values that must be freed chunk by chunk, for the work list
local cut = 0         -- edges removed
local chunks_gone = 0 -- chunks of large values removed from values
local large_gone = 0  -- large values freed

-- A cause begins with the letter of its reason.
local reasons = {R = 'RELEASED', L = 'LAPSED', M = 'REPAIRED'}
local function reason(cause)
  return reasons[string.sub(cause, 1, 1)]
end

-- Takes drop[id] holds from each id of order. Answers the ids that nobody holds now; large ones go to pending.
local function release(order, drop)
  local zero = {}
  if #order == 0 then return zero end
  note(order)
  local set = {}
  local states = redis.call('HMGET', counts, unpack(order))
  for i, id in ipairs(order) do
    local count = states[i]
    if not count then
      -- Held once: the common case, and there is nothing to write.
      if drop[id] == 1 then
        zero[#zero + 1] = id
      else
        redis.call('HINCRBY', meta, 'miscounts', 1)
      end
    else
      local n, shape = holds(count)
      local left = n and n - drop[id]
      if not n and shape == 'b' then
        set[#set + 1] = id
        set[#set + 1] = 'd' .. string.match(count, '^b(|%d+,%d+)')
        pending[#pending + 1] = id
      elseif not n or left < 0 then
        -- More was given up than was held. Free nothing on such evidence; verify tells the whole story.
        redis.call('HINCRBY', meta, 'miscounts', 1)
      elseif left > 0 then
        set[#set + 1] = id
        set[#set + 1] = digits(left) .. shape
      elseif shape == '' then
        zero[#zero + 1] = id
        gone_counts[#gone_counts + 1] = id
      else
        set[#set + 1] = id
        set[#set + 1] = '0' .. shape
        pending[#pending + 1] = id
      end
    end
  end
  if #set > 0 then redis.call('HSET', counts, unpack(set)) end
  return zero
end

-- Adds the children of a packed list, which is about to go, to a tally.
local function tally(list, order, drop)
  cut = cut + #list / width
  for at = 1, #list, width do
    local child = string.sub(list, at, at + width - 1)
    local times = drop[child]
    if times then
      drop[child] = times + 1
    else
      drop[child] = 1
      order[#order + 1] = child
    end
  end
end

-- Frees dead ids and, within a budget of edges, what only they held. Answers the ids left over and the edges done.
local function cascade(dead, budget)
  local done = 0
  while #dead > 0 do
    local batch = {}
    for i = 1, math.min(#dead, 64) do
      batch[i] = dead[#dead]
      dead[#dead] = nil
    end
    local lists = redis.call('HMGET', edges, unpack(batch))
    local order, drop, left = {}, {}, {}
    for i, id in ipairs(batch) do
      local list = lists[i]
      if not list then
        freed[#freed + 1] = id
      elseif done < budget then
        freed[#freed + 1] = id
        gone_edges[#gone_edges + 1] = id
        done = done + #list / width
        tally(list, order, drop)
      else
        left[#left + 1] = id
      end
    end
    for _, id in ipairs(release(order, drop)) do dead[#dead + 1] = id end
    if #left > 0 then
      -- Out of budget: of what is still dead only the childless are freed, the rest is left over.
      if #dead > 0 then
        for at = 1, #dead, 64 do
          local last = math.min(at + 63, #dead)
          local more = redis.call('HMGET', edges, unpack(dead, at, last))
          for i = at, last do
            if more[i - at + 1] then left[#left + 1] = dead[i] else freed[#freed + 1] = dead[i] end
          end
        end
      end
      return left, done
    end
  end
  return {}, done
end

-- One element of the work list: kind (v: values, l: a lease), cause, then packed ids or the lease.
local function hint(kind, cause, payload)
  return kind .. string.char(#cause) .. cause .. payload
end

-- Leaves ids for a later step: their count says doomed, the work list says where they are and why.
local function doom(ids, cause)
  for at = 1, #ids, 256 do
    local last = math.min(at + 255, #ids)
    local set = {}
    for i = at, last do
      set[#set + 1] = ids[i]
      set[#set + 1] = '0'
    end
    redis.call('HSET', counts, unpack(set))
    redis.call('RPUSH', doomed, hint('v', cause, table.concat(ids, '', at, last)))
  end
end

-- Writes what release and cascade decided. left: ids that are dead and not freed.
local function finish(left, cause, by, space, capacity)
  for at = 1, #freed, 2000 do
    redis.call('HDEL', values, unpack(freed, at, math.min(at + 1999, #freed)))
  end
  for at = 1, #gone_edges, 2000 do
    redis.call('HDEL', edges, unpack(gone_edges, at, math.min(at + 1999, #gone_edges)))
  end
  -- An id that is left over is in gone_counts too if it had an entry: it gets a new one below.
  for at = 1, #gone_counts, 2000 do
    redis.call('HDEL', counts, unpack(gone_counts, at, math.min(at + 1999, #gone_counts)))
  end
  if cut > 0 then redis.call('HINCRBY', meta, 'edges', digits(-cut)) end
  if chunks_gone > 0 then redis.call('HINCRBY', meta, 'chunks', digits(-chunks_gone)) end
  if large_gone > 0 then redis.call('HINCRBY', meta, 'large', digits(-large_gone)) end
  note(left)
  note(pending)
  doom(left, cause)
  if #pending > 0 then redis.call('RPUSH', doomed, hint('v', cause, table.concat(pending))) end
  if #freed > 0 then
    note(freed)
    redis.call('XADD', ledger, 'MAXLEN', '~', capacity, '*', 'k', 'VALUE', 's', space,
      'r', reason(cause), 'e', string.sub(cause, 2), 'b', by,
      'p', table.concat(freed), 'w', about[1])
  end
end
