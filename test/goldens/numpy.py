"""What JAX answers to odd arguments: fills in `expected` of every row of numpy.json.

    pip install jax==0.10.2 && python numpy.py numpy.json

An array is {"$": values, "t": dtype, "s": shape}; {"n": "nan"} is a number that JSON has no text for.
"""
import json, re, sys, inspect, math, warnings
warnings.filterwarnings('ignore')
import numpy as onp, jax, jax.numpy as jnp
jax.config.update('jax_numpy_dtype_promotion','standard')
SPECIAL={'nan':math.nan,'inf':math.inf,'-inf':-math.inf,'-0':-0.0}
def num(v):
    if isinstance(v,list): return [num(x) for x in v]
    if isinstance(v,dict): return SPECIAL[v['n']]
    return v
def dec(x):
    if isinstance(x,dict):
        if '$' in x:
            a=onp.array(num(x['$']),dtype=x['t'])
            return jnp.array(a.reshape(x['s']) if 's' in x else a)
        if list(x)==['n'] and isinstance(x['n'],str): return SPECIAL[x['n']]
        if list(x)==['key']: return jax.random.PRNGKey(x['key'])
        return {k:dec(v) for k,v in x.items()}
    if isinstance(x,list): return [dec(v) for v in x]
    return x
snake=lambda s: re.sub(r'(?<=[a-z0-9])([A-Z])',lambda m:'_'+m.group(1).lower(),s)
names={'var_':'var','hann':'hanning','expandDims':'expand_dims','arctan2':'arctan2','nanToNum':'nan_to_num','argmax':'argmax','arrayEqual':'array_equal','topK':'top_k','trueDivide':'true_divide','isneginf':'isneginf','bitwiseCount':'bitwise_count','squeeze':'squeeze','countNonzero':'count_nonzero','softSign':'soft_sign','log1mexp':'log1mexp','sparsePlus':'sparse_plus','permuteDims':'permute_dims','logit':'logit'}
kw={'equalNaN':'equal_nan','correction':'ddof','isCausal':'is_causal','fillValue':'fill_value'}
def pair(x): return x['real']+1j*x['imag'] if isinstance(x,dict) and 'real' in x else x
def opts(d): return {kw.get(k,snake(k)):v for k,v in d.items()}
def enc(r):
    if isinstance(r,(tuple,list)): return [enc(x) for x in r]
    if isinstance(r,(jax.Array,onp.ndarray,onp.generic)):
        if jnp.issubdtype(r.dtype, jax.dtypes.prng_key): r=jax.random.key_data(r)
        if onp.iscomplexobj(r): return {'real':enc(jnp.real(r)),'imag':enc(jnp.imag(r))}
        a=onp.asarray(r); w=bool(getattr(r,'weak_type',False))
        def e(x):
            x=x.item()
            if isinstance(x,float):
                if math.isnan(x): return 'nan'
                if math.isinf(x): return 'inf' if x>0 else '-inf'
                if x==0 and math.copysign(1,x)<0: return '-0'
            if isinstance(x,bool): return int(x)
            return x
        return {'s':list(a.shape),'t':str(a.dtype),'w':w,'v':[e(x) for x in a.ravel()]}
    if isinstance(r,onp.dtype) or (isinstance(r,type)): return str(onp.dtype(r))
    if isinstance(r,dict): return {k:enc(v) for k,v in r.items()}
    if isinstance(r,float) and (math.isnan(r) or math.isinf(r)): return 'nan' if math.isnan(r) else ('inf' if r>0 else '-inf')
    return r
jl=jax.lax
def conv(l,r,s,p,**o):
    n=l.ndim-2
    return jl.conv_general_dilated(l,r,s,p,**o)
def call(name,a):
    if name=='@slice':
        x,ix=a[0],a[1:]
        py=tuple(slice(None) if i==[] else slice(*i,None) if isinstance(i,list) and len(i)==1 else slice(i[0],i[1]) if isinstance(i,list) else i for i in ix)
        return x[py]
    parts=name.split('.')
    leaf=parts[-1]
    args=list(a); k={}
    if args and isinstance(args[-1],dict) and 'real' not in args[-1] and not (leaf=='pad'): k=opts(args.pop())
    if 'keepdims' in k and False: pass
    if name.startswith('random.'):
        fn=snake(leaf)
        if fn=='key': return jax.random.PRNGKey(args[0])
        if fn=='weibull_min': return jax.random.weibull_min(args[0],args[1],args[2],*([tuple(args[3])] if len(args)>3 else []))
        if fn=='randint': return jax.random.randint(args[0],tuple(k.get('shape',[])),k['minval'],k['maxval'])
        if fn=='ball': return jax.random.ball(args[0],args[1],shape=tuple(k.get('shape',())))
        if fn=='categorical' and 'shape' in k: k['shape']=tuple(k['shape'])
        if 'shape' in k: k['shape']=tuple(k['shape'])
        args=[tuple(x) if isinstance(x,list) else x for x in args]
        return getattr(jax.random,fn)(*args,**k)
    if parts[0]=='nn':
        fn={'softSign':'soft_sign','dotProductAttention':'dot_product_attention','hardSilu':'hard_silu','hardSwish':'hard_swish','oneHot':'one_hot','relu6':'relu6','log1mexp':'log1mexp'}.get(leaf,snake(leaf))
        if fn=='dot_product_attention':
            k={{'query_seq_lengths':'query_seq_lengths','key_value_seq_lengths':'key_value_seq_lengths'}.get(q,q):v for q,v in k.items()}
            if isinstance(k.get('local_window_size'),list): k['local_window_size']=tuple(k['local_window_size'])
        args=[tuple(x) if isinstance(x,list) else x for x in args]
        return getattr(jax.nn,fn)(*args,**k)
    if parts[0]=='scipySpecial':
        fn=snake(leaf); import jax.scipy.special as sp
        return getattr(sp,fn)(*[tuple(x) if isinstance(x,list) else x for x in args],**k) if hasattr(sp,fn) else getattr(jax.nn,fn)(*args,**k)
    if parts[0]=='lax':
        if parts[1]=='linalg':
            if leaf=='cholesky':
                up=k.get('upper',False); L=jl.linalg.cholesky(args[0]); return jnp.swapaxes(L,-1,-2) if up else L
            if leaf=='triangularSolve':
                return jl.linalg.triangular_solve(*args,left_side=k.get('left_side',False),lower=k.get('lower',False),transpose_a=k.get('transpose_a',False),unit_diagonal=k.get('unit_diagonal',False))
            return getattr(jl.linalg,snake(leaf))(*args,**k)
        if leaf=='conv': return conv(*args)
        if leaf=='convGeneralDilated': return conv(*args,**k)
        if leaf=='convWithGeneralPadding': return conv(args[0],args[1],args[2],args[3],lhs_dilation=args[4] if len(args)>4 else None,rhs_dilation=args[5] if len(args)>5 else None)
        if leaf=='convTranspose':
            n=args[0].ndim-2
            sp='DHW'[-n:]
            dn=('NC'+sp,'OI'+sp,'NC'+sp)
            return jl.conv_transpose(args[0],args[1],args[2],args[3] if isinstance(args[3],str) else [tuple(x) for x in args[3]],rhs_dilation=k.get('rhs_dilation'),dimension_numbers=dn,transpose_kernel=k.get('transpose_kernel',False))
        if leaf=='dot':
            if k: 
                fix=lambda ax,x:[i%x.ndim for i in ax]
                return jl.dot_general(args[0],args[1],((fix(k.get('lhs_contracting_dims',[]),args[0]),fix(k.get('rhs_contracting_dims',[]),args[1])),(k.get('lhs_batch_dims',[]),k.get('rhs_batch_dims',[]))))
            return jl.dot(*args)
        if leaf=='bitcastConvertType': return jl.bitcast_convert_type(args[0],args[1])
        if leaf=='topK': return jl.top_k(args[0],args[1]) if len(args)<3 else jl.top_k(args[0],args[1],axis=args[2])
        return getattr(jl,snake(leaf))(*args,**k)
    if parts[0]=='linalg':
        m=jnp.linalg; fn=snake(leaf)
        if fn=='eigvalsh': return m.eigvalsh(args[0])
        if fn=='lstsq': return m.lstsq(*args)[0]
        if fn=='norm':
            o=k.get('ord'); ax=k.get('axis'); 
            if o=='f': o='fro'
            return m.norm(args[0],ord=o,axis=tuple(ax) if isinstance(ax,list) else ax,keepdims=k.get('keepdims',False))
        if fn=='vector_norm' and isinstance(k.get('axis'),list): k['axis']=tuple(k['axis'])
        if fn=='cross' and len(args)==3: return m.cross(args[0],args[1],axis=args[2])
        if fn=='matmul': return jnp.matmul(*args)
        if fn=='tensordot': return jnp.tensordot(*args)
        return getattr(m,fn)(*args,**k)
    if parts[0]=='fft':
        fn=snake(leaf); args=[pair(x) for x in args]
        if fn in('fft','ifft','rfft','irfft','hfft','ihfft') and len(args)>1: return getattr(jnp.fft,fn)(args[0],axis=args[1])
        if fn in('fftn','ifftn','fft2','ifft2','rfftn','rfft2','irfftn','irfft2') and len(args)>1: return getattr(jnp.fft,fn)(args[0],axes=tuple(args[1]))
        if fn in('fftshift','ifftshift') and len(args)>1: return getattr(jnp.fft,fn)(args[0],axes=tuple(args[1]) if isinstance(args[1],list) else args[1])
        return getattr(jnp.fft,fn)(*args)
    fn=names.get(leaf,snake(leaf))
    red={'sum','prod','max','min','mean','any','all','nansum','nanprod','nanmax','nanmin','nanmean','ptp','count_nonzero','var','std','nanvar','nanstd','average','argmax','argmin','nanargmax','nanargmin'}
    if fn in red:
        ax=args[1] if len(args)>1 else None
        return getattr(jnp,fn)(args[0],axis=tuple(ax) if isinstance(ax,list) else ax,**k)
    if fn in('cumsum','cumprod','nancumsum','nancumprod','sort','argsort') : return getattr(jnp,fn)(args[0],**({'axis':args[1]} if len(args)>1 else {}))
    if fn=='clip': return jnp.clip(args[0],args[1] if len(args)>1 else None,args[2] if len(args)>2 else None)
    if fn=='diff':
        return jnp.diff(*args,**k)
    if fn=='linspace': 
        if len(args)>3: k['endpoint']=args[3]
        return jnp.linspace(args[0],args[1],*(args[2:3]),**k)
    if fn in('logspace','geomspace'):
        if len(args)>3: k['endpoint']=args[3]
        if len(args)>4: k['base']=args[4]
        return getattr(jnp,fn)(args[0],args[1],*(args[2:3]),**k)
    if fn=='pad':
        w=args[1]
        if isinstance(w,dict): w=[tuple(w.get(str(i),(0,0))) for i in range(args[0].ndim)]
        return jnp.pad(args[0],w)
    if fn in ('zeros_like','ones_like','full_like') : return getattr(jnp,fn)(*args,**k)
    if fn=='ediff1d': return jnp.ediff1d(args[0],to_end=k.get('to_end'),to_begin=k.get('to_begin'))
    if fn=='take': return jnp.take(args[0],args[1],axis=args[2] if len(args)>2 else None,mode='clip' if False else None)
    if fn=='vander': return jnp.vander(args[0],N=k.get('n'),increasing=k.get('increasing',False))
    if fn=='meshgrid': return jnp.meshgrid(*args[0],**k)
    if fn=='einsum': return jnp.einsum(*args)
    if fn=='trapezoid': return jnp.trapezoid(args[0],args[1] if len(args)>1 else None,dx=k.get('dx',1.0),axis=k.get('axis',-1))
    if fn=='cov': return jnp.cov(*args,**k)
    if fn=='promote_types': return jnp.promote_types(*args)
    if fn=='result_type': return jnp.result_type(*args)
    if fn=='isscalar': return jnp.isscalar(*args)
    if fn=='identity': return jnp.identity(*args,**k)
    if fn=='finfo':
        q=jnp.finfo(*args); return {'bits':q.bits,'dtype':str(q.dtype),'eps':float(q.eps),'epsneg':float(q.epsneg),'machep':int(q.machep),'max':float(q.max),'maxexp':int(q.maxexp),'min':float(q.min),'minexp':int(q.minexp),'negep':int(q.negep),'nexp':int(q.nexp),'nmant':int(q.nmant),'precision':int(q.precision),'resolution':float(q.resolution),'smallestNormal':float(q.smallest_normal),'smallestSubnormal':float(q.smallest_subnormal)}
    if fn=='iinfo':
        q=jnp.iinfo(*args); return {'bits':q.bits,'dtype':str(q.dtype),'max':int(q.max),'min':int(q.min)}
    if fn=='broadcast_shapes': return list(jnp.broadcast_shapes(*[tuple(x) for x in args]))
    if fn=='polyder': return jnp.polyder(args[0],*args[1:])
    if fn=='select': return jnp.select(args[0],args[1],*args[2:])
    if fn=='atan2': fn='arctan2'
    if fn in ('bitwise_invert','bitwise_not'): fn='invert'
    if fn=='roll': 
        ax=args[2] if len(args)>2 else None
        return jnp.roll(args[0],tuple(args[1]) if isinstance(args[1],list) else args[1],tuple(ax) if isinstance(ax,list) else ax)
    if fn in ('flip','expand_dims','squeeze') and len(args)>1 and isinstance(args[1],list): args[1]=tuple(args[1])
    if fn=='unstack' and len(args)>1: return jnp.unstack(args[0],axis=args[1])
    if fn=='isin': return jnp.isin(*args,**k)
    return getattr(jnp,fn)(*args,**k)

path = sys.argv[1]
rows = json.load(open(path))
for row in rows:
    row['expected'] = enc(call(row['name'], [dec(x) for x in row['args']]))
open(path, 'w').write('[\n' + ',\n'.join(json.dumps(row, separators=(',', ':')) for row in rows) + '\n]\n')
