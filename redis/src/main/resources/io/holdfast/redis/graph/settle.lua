-- Gives up holds and frees what nobody holds any longer.
-- Needs: meta, values, counts, edges, doomed, ledger, and what shard.lua gives.
--
-- A unit of budget is an edge that is cut, or about as much work as one: some 2 us of the server's time. What costs
-- more is charged more, so that a step takes no longer in a chain than in a tree.

local freed = {}       -- ids freed in this call
local gone_edges = {}  -- those of them that have children
local entries = {}     -- dead ids that have an entry in counts
local is_doomed = {}   -- id -> true: those of them whose entry says so already
local pending = {}     -- large values that must be freed chunk by chunk, for the work list
local cut = 0          -- edges removed
local ROUND = 6        -- units: the calls that a level of a cascade makes, however few its values

-- Takes a hold from each id, as often as it is in the list. What has no entry was held once and has no children: it is
-- freed, the common case, and there is nothing to write. Answers the others that nobody holds now; large ones go to
-- pending.
local function release(ids)
  local zero = {}
  if #ids == 0 then return zero end
  note(ids)
  local order, drop, entry_of = {}, {}, {}
  local n, f = 0, #freed
  for i, count in ipairs(redis.call('HMGET', counts, unpack(ids))) do
    local id = ids[i]
    if not count then
      f = f + 1
      freed[f] = id
    elseif drop[id] then
      drop[id] = drop[id] + 1
    else
      n = n + 1
      order[n], entry_of[n], drop[id] = id, count, 1
    end
  end
  local set = {}
  for i, id in ipairs(order) do
    local count = entry_of[i]
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
      zero[#zero + 1] = id
      entries[#entries + 1] = id
    else
      state = '0' .. shape
      pending[#pending + 1] = id
    end
    if state then
      set[#set + 1] = id
      set[#set + 1] = state
    end
  end
  if #set > 0 then redis.call('HSET', counts, unpack(set)) end
  return zero
end

-- Frees dead ids, the last ones first, and what only they held. Answers the ids left over and the units spent: within
-- the budget, but for a first value that alone is over it. The childless are always freed.
local function cascade(dead, budget)
  local left, spent = {}, 0
  while #dead > 0 do
    local last = #dead
    local first = math.max(1, last - 63)
    local lists = redis.call('HMGET', edges, unpack(dead, first, last))
    local given_up = {}
    spent = spent + ROUND
    for i = last, first, -1 do
      local id, list = dead[i], lists[i - first + 1]
      dead[i] = nil
      if not list then
        freed[#freed + 1] = id
      elseif #left == 0 and (cut == 0 or spent + #list / width <= budget) then
        freed[#freed + 1] = id
        gone_edges[#gone_edges + 1] = id
        given_up[#given_up + 1] = list
        spent = spent + #list / width
        cut = cut + #list / width
      else
        left[#left + 1] = id
      end
    end
    local more = release(ids_of(table.concat(given_up)))
    if #dead == 0 then
      dead = more
    else
      for _, id in ipairs(more) do dead[#dead + 1] = id end
    end
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
    if not is_doomed[id] then
      set[n + 1] = id
      set[n + 2] = '0'
      n = n + 2
    end
  end
  if n > 0 then
    redis.call('HSET', counts, unpack(set))
    widen(counts)
  end
  redis.call('RPUSH', doomed, hint('v', cause, table.concat(ids)))
end

-- Writes what release and cascade decided; left: ids that are dead and not freed. Answers the freed ids, packed.
local function finish(left, cause, by, space, capacity)
  local packed = table.concat(freed)
  if #entries > 0 then
    local kept, gone = {}, {}
    for _, id in ipairs(left) do kept[id] = true end
    for _, id in ipairs(entries) do
      if not kept[id] then gone[#gone + 1] = id end
    end
    if #gone > 0 then redis.call('HDEL', counts, unpack(gone)) end
  end
  if #freed > 0 then
    redis.call('HDEL', values, unpack(freed))
    if #gone_edges > 0 then redis.call('HDEL', edges, unpack(gone_edges)) end
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
