-- Gives up holds and frees what nobody holds any longer.
-- Needs: meta, values, counts, edges, doomed, ledger, and what shard.lua gives.
--
-- A unit of budget is an edge that is cut, or about as much work as one: some 2 us of the server's time. What costs
-- more is charged more, so that a step takes no longer in a chain than in a tree.

local freed = {}       -- ids freed in this call
local gone_edges = {}  -- those of them that have children
local entry = {}       -- id -> its entry in counts, of ids that are dead and have one
local pending = {}     -- large values that must be freed chunk by chunk, for the work list
local cut = 0          -- edges removed
local ROUND = 6        -- units: the calls that a level of a cascade makes, however few its values

-- Takes drop[id] holds from each id of order. Answers the ids that nobody holds now; large ones go to pending.
local function release(order, drop)
  local zero, zeros = {}, 0
  if #order == 0 then return zero end
  note(order)
  local set, n = {}, 0
  local states = redis.call('HMGET', counts, unpack(order))
  for i, id in ipairs(order) do
    local count = states[i]
    if not count then
      -- Held once: the common case, and there is nothing to write.
      if drop[id] == 1 then
        zeros = zeros + 1
        zero[zeros] = id
      else
        redis.call('HINCRBY', meta, 'miscounts', 1)
      end
    else
      local held, shape = holds(count)
      local left = held and held - drop[id]
      local state
      if not held and shape == 'b' then
        state = 'd' .. string.match(count, '^b(|%d+,%d+)')
        pending[#pending + 1] = id
      elseif not held or left < 0 then
        -- More was given up than was held. Free nothing on such evidence; verify tells the whole story.
        redis.call('HINCRBY', meta, 'miscounts', 1)
      elseif left > 0 then
        state = left .. shape
      elseif shape == '' then
        zeros = zeros + 1
        zero[zeros] = id
        entry[id] = count
      else
        state = '0' .. shape
        pending[#pending + 1] = id
      end
      if state then
        set[n + 1] = id
        set[n + 2] = state
        n = n + 2
      end
    end
  end
  if n > 0 then redis.call('HSET', counts, unpack(set)) end
  return zero
end

-- Adds the children of a packed list, which is about to go, to a tally. Answers how many there were.
local function tally(list, order, drop)
  local n = #order
  for at = 1, #list, width do
    local child = string.sub(list, at, at + width - 1)
    local times = drop[child]
    if times then
      drop[child] = times + 1
    else
      drop[child] = 1
      n = n + 1
      order[n] = child
    end
  end
  local children = #list / width
  cut = cut + children
  return children
end

-- Frees dead ids, the last ones first, and what only they held. Answers the ids left over and the units spent: within
-- the budget, but for a first value that alone is over it. The childless are always freed.
local function cascade(dead, budget)
  local left, spent = {}, 0
  while #dead > 0 do
    local last = #dead
    local first = math.max(1, last - 63)
    local lists = redis.call('HMGET', edges, unpack(dead, first, last))
    local order, drop = {}, {}
    spent = spent + ROUND
    for i = last, first, -1 do
      local id, list = dead[i], lists[i - first + 1]
      dead[i] = nil
      if not list then
        freed[#freed + 1] = id
      elseif #left == 0 and (cut == 0 or spent + #list / width <= budget) then
        freed[#freed + 1] = id
        gone_edges[#gone_edges + 1] = id
        spent = spent + tally(list, order, drop)
      else
        left[#left + 1] = id
      end
    end
    for _, id in ipairs(release(order, drop)) do dead[#dead + 1] = id end
  end
  return left, spent
end

-- One element of the work list: kind (v: values, l: a lease), cause, then packed ids or the lease.
local function hint(kind, cause, payload)
  return kind .. string.char(#cause) .. cause .. payload
end

-- Leaves ids for a later step: their count says doomed, the work list says where they are and why.
local function doom(ids, cause)
  if #ids == 0 then return end
  local set, n = {}, 0
  for _, id in ipairs(ids) do
    if entry[id] ~= '0' then
      set[n + 1] = id
      set[n + 2] = '0'
      n = n + 2
    end
  end
  if n > 0 then redis.call('HSET', counts, unpack(set)) end
  redis.call('RPUSH', doomed, hint('v', cause, table.concat(ids)))
end

-- Writes what release and cascade decided; left: ids that are dead and not freed. Answers the freed ids, packed.
local function finish(left, cause, by, space, capacity)
  local packed = table.concat(freed)
  if #freed > 0 then
    redis.call('HDEL', values, unpack(freed))
    if #gone_edges > 0 then redis.call('HDEL', edges, unpack(gone_edges)) end
    if next(entry) then
      local gone = {}
      for _, id in ipairs(freed) do
        if entry[id] then gone[#gone + 1] = id end
      end
      if #gone > 0 then redis.call('HDEL', counts, unpack(gone)) end
    end
    note(freed)
    redis.call('XADD', ledger, 'MAXLEN', '~', capacity, '*', 'k', 'VALUE', 's', space,
      'r', string.sub(cause, 1, 1) == 'L' and 'LAPSED' or 'RELEASED', 'e', string.sub(cause, 2), 'b', by,
      'p', packed, 'w', about[1])
  end
  if cut > 0 then redis.call('HINCRBY', meta, 'edges', digits(-cut)) end
  doom(left, cause)
  if #pending > 0 then redis.call('RPUSH', doomed, hint('v', cause, table.concat(pending))) end
  return packed
end
